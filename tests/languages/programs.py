# SPDX-License-Identifier: MIT
"""Programs in each language that shipped files describe, by what they do:

crash   ends in an error of its own making
loop    never ends
hog     asks for memory without end, and uses it
spy     with "write" on its input leaves a file behind and prints done; with "look" it prints found if it
        finds one, clean if not
bomb    starts processes or threads without end

A syntax error is the same in all: BROKEN. Programs in PRETENDERS lack no memory and end in an error that looks
like it. Those in LARGE hold an array of 120 MB, as a limit of 256 MB is to let them."""

BROKEN = "this is ) no { program in any language ] at all '\n"

C = {
    "crash": "int main(void) { volatile int *p = 0; return *p; }\n",
    "loop": "int main(void) { for (volatile int i = 0;; i++); }\n",
    "hog": """
#include <stdlib.h>
#include <string.h>
int main(void) { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }
""",
    "spy": """
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(void) {
    char word[16];
    if (scanf("%15s", word) == 1 && strcmp(word, "write") == 0) {
        fclose(fopen("left", "w"));
        FILE *f = fopen("/tmp/left", "w");
        if (f) fclose(f);
        puts("done");
    } else
        puts(access("left", F_OK) == 0 || access("/tmp/left", F_OK) == 0 ? "found" : "clean");
}
""",
    "bomb": "#include <unistd.h>\nint main(void) { for (;;) fork(); }\n",
}

PYTHON = {
    "crash": "raise ValueError(1)\n",
    "loop": "while True: pass\n",
    "hog": "kept = []\nwhile True: kept.append(bytearray(1 << 20))\n",
    "spy": """
import os
paths = ["left", "/tmp/left"]
if input() == "write":
    for path in paths:
        try: open(path, "w").close()
        except OSError: pass
    print("done")
else:
    print("found" if any(map(os.path.exists, paths)) else "clean")
""",
    "bomb": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n",
}

JAVASCRIPT = {
    "crash": "throw new Error('x');\n",
    "loop": "for (;;) {}\n",
    "hog": "const kept = []; for (;;) kept.push(new Array(1 << 17).fill(1.5));\n",
    "spy": """
const fs = require("fs");
const paths = ["left", "/tmp/left"];
if (fs.readFileSync(0, "utf8").trim() === "write") {
    for (const path of paths) try { fs.writeFileSync(path, ""); } catch (e) {}
    console.log("done");
} else
    console.log(paths.some((path) => fs.existsSync(path)) ? "found" : "clean");
""",
    "bomb": """
const { spawn } = require("child_process");
const go = () => { spawn("node", ["main.js"]).on("error", () => {}); setTimeout(go, 0); };
go();
""",
}

PROGRAMS = {
    "c": C,
    "cpp": {
        **C,
        "hog": """
#include <vector>
#include <list>
int main() { std::list<std::vector<char>> kept; for (;;) kept.emplace_back(1 << 20, 1); }
""",
    },
    "python": PYTHON,
    "pypy3": PYTHON,
    "javascript": JAVASCRIPT,
    "typescript": {
        **JAVASCRIPT,
        "hog": "const kept: number[][] = []; for (;;) kept.push(new Array(1 << 17).fill(1.5));\n",
        "spy": "declare function require(name: string): any;\n" + JAVASCRIPT["spy"],
        "bomb": "declare function require(name: string): any;\n" + JAVASCRIPT["bomb"],
    },
    "java": {
        "crash": "class A { public static void main(String[] a) { System.out.println(a[1]); } }\n",
        "loop": "class A { public static void main(String[] a) { for (;;); } }\n",
        "hog": """
import java.util.*;
class A { public static void main(String[] a) {
    List<int[]> kept = new ArrayList<>(); for (;;) kept.add(new int[1 << 18]); } }
""",
        "spy": """
import java.io.*;
import java.util.*;
public class Spy { public static void main(String[] a) throws Exception {
    File here = new File("left"), there = new File("/tmp/left");
    if (new Scanner(System.in).next().equals("write")) {
        here.createNewFile();
        try { there.createNewFile(); } catch (IOException e) { }
        System.out.println("done");
    } else
        System.out.println(here.exists() || there.exists() ? "found" : "clean");
} }
""",
        "bomb": """
class A { public static void main(String[] a) { for (;;) new Thread(() -> { for (;;); }).start(); } }
""",
    },
    "kotlin": {
        "crash": "fun main(args: Array<String>) { println(args[1]) }\n",
        "loop": "fun main() { while (true) { } }\n",
        "hog": "fun main() { val kept = ArrayList<IntArray>(); while (true) kept.add(IntArray(1 shl 18)) }\n",
        "spy": """
import java.io.File
fun main() {
    val files = listOf(File("left"), File("/tmp/left"))
    if (readLine()!!.trim() == "write") {
        for (file in files) try { file.createNewFile() } catch (e: java.io.IOException) { }
        println("done")
    } else
        println(if (files.any { it.exists() }) "found" else "clean")
}
""",
        "bomb": "fun main() { while (true) Thread { while (true) { } }.start() }\n",
    },
    "scala": {
        "crash": "object A { def main(a: Array[String]): Unit = println(a(1)) }\n",
        "loop": "object A { def main(a: Array[String]): Unit = while (true) { } }\n",
        "hog": """
object A { def main(a: Array[String]): Unit = {
  var kept = List[Array[Int]](); while (true) kept = new Array[Int](1 << 18) :: kept } }
""",
        "spy": """
import java.io.File
object A extends App {
  val files = List(new File("left"), new File("/tmp/left"))
  if (scala.io.StdIn.readLine().trim == "write") {
    for (file <- files) try file.createNewFile() catch { case e: java.io.IOException => }
    println("done")
  } else
    println(if (files.exists(_.exists)) "found" else "clean")
}
""",
        "bomb": """
object A { def main(a: Array[String]): Unit = while (true) new Thread(new Runnable {
  def run(): Unit = while (true) { } }).start() }
""",
    },
    "go": {
        "crash": 'package main\nfunc main() { panic("x") }\n',
        "loop": "package main\nfunc main() { for { } }\n",
        "hog": """
package main
func main() {
	var kept [][]byte
	for {
		block := make([]byte, 1<<20)
		for i := range block {
			block[i] = 1
		}
		kept = append(kept, block)
	}
}
""",
        "spy": """
package main
import ("fmt"; "os")
func main() {
	var word string
	fmt.Scan(&word)
	if word == "write" {
		os.WriteFile("left", nil, 0o644)
		os.WriteFile("/tmp/left", nil, 0o644)
		fmt.Println("done")
		return
	}
	_, here := os.Stat("left")
	_, there := os.Stat("/tmp/left")
	if here == nil || there == nil { fmt.Println("found") } else { fmt.Println("clean") }
}
""",
        "bomb": """
package main
import "os/exec"
func main() {
	for {
		exec.Command("./main").Start()
	}
}
""",
    },
    "rust": {
        "crash": 'fn main() { panic!("x"); }\n',
        "loop": "fn main() { let i = 0u64; while unsafe { std::ptr::read_volatile(&i) } == 0 { } }\n",
        "hog": "fn main() { let mut kept = Vec::new(); loop { kept.push(vec![1u8; 1 << 20]); } }\n",
        "spy": """
use std::path::Path;
fn main() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let paths = ["left", "/tmp/left"];
    if line.trim() == "write" {
        for path in paths { let _ = std::fs::write(path, ""); }
        println!("done");
    } else {
        println!("{}", if paths.iter().any(|p| Path::new(p).exists()) { "found" } else { "clean" });
    }
}
""",
        "bomb": "fn main() { loop { let _ = std::thread::Builder::new().spawn(|| loop { std::hint::spin_loop() }); } }\n",
    },
    "bash": {
        "crash": "exit 3\n",
        "loop": "while :; do :; done\n",
        "hog": 'kept=xxxxxxxxxxxxxxxx; while :; do kept="$kept$kept"; done\n',
        "spy": """
read -r word
if [ "$word" = write ]; then
    : >left; : >/tmp/left
    echo done
elif [ -e left ] || [ -e /tmp/left ]; then echo found; else echo clean; fi
""",
        "bomb": "bomb() { bomb | bomb & }; bomb; wait\n",
    },
    "ruby": {
        "crash": 'raise "x"\n',
        "loop": "loop {}\n",
        "hog": 'kept = []; loop { kept << "x" * (1 << 20) }\n',
        "spy": """
paths = ["left", "/tmp/left"]
if gets.strip == "write"
  paths.each { |path| begin; File.write(path, ""); rescue SystemCallError; end }
  puts "done"
else
  puts paths.any? { |path| File.exist?(path) } ? "found" : "clean"
end
""",
        "bomb": "loop { begin; fork; rescue SystemCallError; end }\n",
    },
    "php": {
        "crash": '<?php throw new Exception("x");\n',
        "loop": "<?php for (;;);\n",
        "hog": '<?php $kept = []; for (;;) $kept[] = str_repeat("x", 1 << 20) . count($kept);\n',
        "spy": """
<?php
$paths = ["left", "/tmp/left"];
if (trim(fgets(STDIN)) === "write") {
    foreach ($paths as $path) @file_put_contents($path, "");
    echo "done\\n";
} else
    echo array_filter($paths, "file_exists") ? "found\\n" : "clean\\n";
""".lstrip(),
        "bomb": "<?php for (;;) @pcntl_fork();\n",
    },
    "perl": {
        "crash": 'die "x";\n',
        "loop": "1 while 1;\n",
        "hog": 'my @kept; push @kept, "x" x (1 << 20) . @kept while 1;\n',
        "spy": """
my $word = <STDIN>;
if ($word =~ /write/) {
    for my $path ("left", "/tmp/left") { open(my $f, ">", $path) and close $f; }
    print "done\\n";
} else {
    print -e "left" || -e "/tmp/left" ? "found\\n" : "clean\\n";
}
""",
        "bomb": "fork while 1;\n",
    },
    "lua": {
        "crash": 'error("x")\n',
        "loop": "while true do end\n",
        "hog": 'local kept = {}; while true do kept[#kept + 1] = ("x"):rep(1 << 20) .. #kept end\n',
        "spy": """
local paths = {"left", "/tmp/left"}
if io.read("l") == "write" then
  for _, path in ipairs(paths) do local f = io.open(path, "w"); if f then f:close() end end
  print("done")
else
  local found = false
  for _, path in ipairs(paths) do local f = io.open(path); if f then found = true end end
  print(found and "found" or "clean")
end
""",
        "bomb": 'local kept = {}; while true do kept[#kept + 1] = io.popen("lua5.4 main.lua") end\n',
    },
    "r": {
        "crash": 'stop("x")\n',
        "loop": "repeat {}\n",
        "hog": "kept <- list(); repeat kept[[length(kept) + 1]] <- runif(2^20)\n",
        "spy": """
paths <- c("left", "/tmp/left")
if (readLines(file("stdin"), 1) == "write") {
  suppressWarnings(file.create(paths))
  cat("done\\n")
} else cat(if (any(file.exists(paths))) "found\\n" else "clean\\n")
""",
        "bomb": "repeat try(parallel::mcparallel(repeat {}), silent = TRUE)\n",
    },
    "csharp": {
        "crash": 'class A { static void Main() { throw new System.Exception("x"); } }\n',
        "loop": "class A { static void Main() { for (;;); } }\n",
        "hog": """
using System.Collections.Generic;
class A { static void Main() { var kept = new List<int[]>(); for (;;) { var a = new int[1 << 18];
    for (int i = 0; i < a.Length; i++) a[i] = 1; kept.Add(a); } } }
""",
        "spy": """
using System;
using System.IO;
class A { static void Main() {
    var paths = new [] { "left", "/tmp/left" };
    if (Console.ReadLine().Trim() == "write") {
        foreach (var path in paths) try { File.WriteAllText(path, ""); } catch (Exception) { }
        Console.WriteLine("done");
    } else
        Console.WriteLine(File.Exists(paths[0]) || File.Exists(paths[1]) ? "found" : "clean");
} }
""",
        "bomb": """
using System;
using System.Threading;
class A { static void Main() { for (;;) try { new Thread(() => { for (;;); }).Start(); } catch (Exception) { } } }
""",
    },
    "haskell": {
        "crash": 'main = error "x"\n',
        "loop": "main = let go :: Int -> IO (); go n = n `seq` if n < 0 then return () else go ((n + 1) `mod` 7) in go 0\n",
        "hog": "main = let xs = [1 ..] :: [Integer] in print (sum (takeWhile (> 0) xs) + head (reverse xs))\n",
        "spy": """
import Control.Exception
import System.Directory
main = do
  word <- getLine
  let paths = ["left", "/tmp/left"]
  if word == "write"
    then do
      mapM_ (\\path -> writeFile path "" `catch` \\e -> const (return ()) (e :: IOException)) paths
      putStrLn "done"
    else do
      found <- mapM doesFileExist paths
      putStrLn (if or found then "found" else "clean")
""",
        "bomb": """
import Control.Exception
import System.Posix.Process
import System.Posix.Types
main :: IO ()
main = do
  _ <- try (forkProcess main) :: IO (Either IOException ProcessID)
  main
""",
    },
    "ocaml": {
        "crash": 'let () = failwith "x"\n',
        "loop": "let () = while true do () done\n",
        "hog": "let kept = ref []\nlet () = while true do kept := Bytes.make (1 lsl 20) 'x' :: !kept done\n",
        "spy": """
let paths = ["left"; "/tmp/left"]
let () =
  if String.trim (input_line stdin) = "write" then begin
    List.iter (fun path -> try close_out (open_out path) with Sys_error _ -> ()) paths;
    print_endline "done"
  end else print_endline (if List.exists Sys.file_exists paths then "found" else "clean")
""",
        "bomb": "let () = while true do try ignore (Unix.fork ()) with Unix.Unix_error _ -> () done\n",
    },
    "d": {
        "crash": 'void main() { throw new Exception("x"); }\n',
        "loop": "void main() { for (;;) { } }\n",
        "hog": "void main() { ubyte[][] kept; for (;;) { auto a = new ubyte[1 << 20]; a[] = 1; kept ~= a; } }\n",
        "spy": """
import std.file, std.stdio, std.string;
void main()
{
    auto paths = ["left", "/tmp/left"];
    if (readln().strip() == "write") {
        foreach (path; paths) try { std.file.write(path, ""); } catch (FileException e) { }
        writeln("done");
    } else
        writeln(exists(paths[0]) || exists(paths[1]) ? "found" : "clean");
}
""",
        "bomb": "import core.sys.posix.unistd;\nvoid main() { for (;;) fork(); }\n",
    },
    "pascal": {
        "crash": "begin halt(3) end.\n",
        "loop": "begin while true do; end.\n",
        "hog": """
var p: pointer;
begin
  while true do begin getmem(p, 1 shl 20); fillchar(p^, 1 shl 20, 1) end
end.
""",
        "spy": """
{$mode objfpc}{$H+}
uses sysutils;
procedure leave(const path: string);
var f: text;
begin
  assign(f, path); {$I-} rewrite(f); if ioresult = 0 then close(f) {$I+}
end;
var word: string;
begin
  readln(word);
  if trim(word) = 'write' then begin leave('left'); leave('/tmp/left'); writeln('done') end
  else if fileexists('left') or fileexists('/tmp/left') then writeln('found')
  else writeln('clean')
end.
""",
        "bomb": "uses baseunix;\nbegin\n  while true do fpfork\nend.\n",
    },
}

PRETENDERS = {
    "bash": 'echo "no: xmalloc: cannot allocate it" >&2; exit 1\n',
    "cpp": '#include <stdexcept>\nint main() { throw std::runtime_error("std::bad_alloc"); }\n',
    "csharp": 'class A { static void Main() { throw new System.Exception("System.OutOfMemoryException: no"); } }\n',
    "d": 'void main() { throw new Exception("core.exception.OutOfMemoryError: Memory allocation failed"); }\n',
    "go": 'package main\nfunc main() { panic("fatal error: runtime: out of memory") }\n',
    "haskell": "import System.Exit\nmain = exitWith (ExitFailure 251)\n",
    "java": """
class A { public static void main(String[] a) {
    throw new RuntimeException("java.lang.OutOfMemoryError: Java heap space"); } }
""",
    "javascript": 'throw new Error("JavaScript heap out of memory");\n',
    "kotlin": 'fun main() { throw RuntimeException("java.lang.OutOfMemoryError: Java heap space") }\n',
    "lua": 'error("not enough memory")\n',
    "ocaml": 'let () = failwith "Out_of_memory"\n',
    "pascal": "begin halt(203) end.\n",
    "perl": 'die "Out of memory!";\n',
    "php": '<?php throw new Exception("Out of memory");\n',
    "pypy3": "raise ValueError('no MemoryError here')\n",
    "python": "raise ValueError('no MemoryError here')\n",
    "r": 'stop("there: cannot allocate vector of size 1")\n',
    "ruby": 'raise "failed to allocate memory (NoMemoryError)"\n',
    "rust": 'fn main() { eprintln!("no memory allocation of 1 bytes failed"); std::process::exit(1); }\n',
    "scala": """
object A { def main(a: Array[String]): Unit =
  throw new RuntimeException("java.lang.OutOfMemoryError: Java heap space") }
""",
    "typescript": 'throw new Error("JavaScript heap out of memory");\n',
}

LARGE = {
    "java": """
class A { public static void main(String[] a) { int[] x = new int[30000000]; System.out.println(x.length); } }
""",
    "kotlin": "fun main() { val x = IntArray(30000000); println(x.size) }\n",
    "scala": "object A { def main(a: Array[String]): Unit = { val x = new Array[Int](30000000); println(x.length) } }\n",
}
