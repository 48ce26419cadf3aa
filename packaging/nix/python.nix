# SPDX-License-Identifier: MIT
# The Python client.
{ lib, buildPythonPackage, setuptools }:

buildPythonPackage {
  pname = "rubricd";
  version = "0.1.0";
  pyproject = true;
  src = lib.cleanSource ../../client/python;
  build-system = [ setuptools ];
  pythonImportsCheck = [ "rubricd" ];
  meta.license = lib.licenses.mit;
}
