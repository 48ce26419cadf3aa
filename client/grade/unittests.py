def _run_unittests(classes):
    """Runs the tests of CLASSES, and raises what the first one says that fails."""
    import unittest

    suite = unittest.TestSuite()
    for each in classes:
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(each))
    assert suite.countTestCases() > 0, "there is no test"
    result = unittest.TestResult()
    result.failfast = True
    suite.run(result)
    for test, text in result.failures + result.errors:
        raise AssertionError(f"{test.id()}: {text.strip().splitlines()[-1]}")
    assert result.wasSuccessful(), "a test passed that is expected to fail"
