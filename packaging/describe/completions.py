#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the completions of one program for one shell from the tables that `describe` prints.

    completions.py bash|zsh PROGRAM TABLES > FILE"""

import json
import shlex
import sys

# --- bash ----------------------------------------------------------------------------------------

# The command that completes each kind of value, of the program PROGRAM. $cur holds the letters typed
# so far.
BASH_ACTIONS = {
    "other": ":",
    "file": "_filedir",
    "directory": "_filedir -d",
    "socket": "_PROGRAM_sockets",
    "choice": "_PROGRAM_words {choices}",
    "task class": "_PROGRAM_task_classes",
    "named file": 'cur=${{cur#*=}}; _filedir',
    "variable": "_PROGRAM_names $(compgen -e)",
    "limit": "_PROGRAM_names {limits}",
    "setting": "_PROGRAM_names {settings}",
    "job": "_PROGRAM_jobs",
}

BASH_HELPERS = {
    "_PROGRAM_words": """
# Completes with those of the words that begin with $cur.
_PROGRAM_words()
{
    COMPREPLY=($(compgen -W "$*" -- "$cur"))
}
""",
    "_PROGRAM_names": """
# Completes the NAME= of NAME=VALUE.
_PROGRAM_names()
{
    [[ $cur == *=* ]] && return
    COMPREPLY=($(compgen -S = -W "$*" -- "$cur"))
    compopt -o nospace 2>/dev/null
}
""",
    "_PROGRAM_sockets": """
_PROGRAM_sockets()
{
    local path
    compopt -o filenames 2>/dev/null
    while read -r path; do
        [[ -d $path || -S $path ]] && COMPREPLY+=("$path")
    done < <(compgen -f -- "$cur")
}
""",
    "_PROGRAM_task_classes": """
# Completes with the folders that have a rubric.py beneath the bench root of the command line.
_PROGRAM_task_classes()
{
    local i root rubric
    for ((i = 1; i < cword; i++)); do
        case ${words[i]} in
            --bench-root=*) root=${words[i]#*=} ;;
            --bench-root | -b) root=${words[i + 1]} ;;
        esac
    done
    [[ $root == '~/'* ]] && root=$HOME/${root#*/}
    [[ $root ]] || return
    for rubric in "$root"/*/rubric.py; do
        rubric=${rubric%/*}
        rubric=${rubric##*/}
        [[ $rubric != '*' && $rubric == "$cur"* ]] && COMPREPLY+=("$rubric")
    done
}
""",
    "_PROGRAM_jobs": """
# Completes with the numbers of the running jobs.
_PROGRAM_jobs()
{
    local -a socket
    local i
    for ((i = 1; i < cword; i++)); do
        case ${words[i]} in
            --socket=*) socket=("${words[i]}") ;;
            --socket | -s) socket=(--socket "${words[i + 1]}") ;;
        esac
    done
    _PROGRAM_words "$(timeout 2 "${words[0]}" "${socket[@]}" status --json 2>/dev/null </dev/null |
        grep -o '"job":{"job_no":[0-9]*' | grep -o '[0-9]*$')"
}
""",
}

# Commands of one of our programs that are other programs of ours, with completions of their own.
DELEGATES = {"fleet": "rubricctl-fleet"}

BASH_DELEGATE = """
# Completes a command line that goes on as that of {target}, whose completions are beside these.
_PROGRAM_{name}()
{{
    local file=${{BASH_SOURCE[0]%/*}}/{target} before=${{COMP_LINE%%{name}*}}{name} i=1
    [[ -r $file ]] || return
    source "$file"
    while ((i < COMP_CWORD)) && [[ ${{COMP_WORDS[i]}} != {name} ]]; do
        ((i++))
    done
    COMP_WORDS=({target} "${{COMP_WORDS[@]:i+1}}")
    ((COMP_CWORD -= i))
    COMP_LINE={target}${{COMP_LINE#"$before"}}
    COMP_POINT=${{#COMP_LINE}}
    _{target}
}}
"""

BASH_HEAD = """# bash completion for {program}                              -*- shell-script -*-
# Generated from the program's own table of options; do not edit.
{helpers}
# Completes the value of option $2 of command $1.
_PROGRAM_value()
{{
    case "$1 $2" in
{values}
        *) return 1 ;;
    esac
}}

# Succeeds if option $2 of command $1 has a value.
_PROGRAM_takes_value()
{{
    case "$1 $2" in
{valued}
        *) return 1 ;;
    esac
}}

# Prints the options of command $1.
_PROGRAM_options()
{{
    _PROGRAM_words {globals} $(
        case $1 in
{options}
        esac
    )
}}
"""

BASH_CLIENT = """
# Completes argument number $2 of command $1.
_PROGRAM_argument()
{{
    case "$1 $2" in
        " "*) _PROGRAM_words {commands} help ;;
        "help 0") _PROGRAM_words {commands} ;;
{arguments}
    esac
}}

_PROGRAM()
{{
    local cur prev words cword split
    _init_completion -s || return

    # The option whose value is completed, if any; the command; the number of its arguments so far.
    local option='' command='' count=0 only_arguments='' i
    for ((i = 1; i < cword; i++)); do
        case ${{words[i]}} in
            --)
                only_arguments=1
                ;;
            -?*)
                [[ $only_arguments ]] && ((count++))
                if [[ ! $only_arguments ]] && _PROGRAM_takes_value "$command" "${{words[i]}}"; then
                    ((++i == cword)) && option=${{words[i - 1]}}
                fi
                ;;
            *)
                if [[ ! $command ]]; then
                    command=${{words[i]}}
                else
                    ((count++))
                fi
                ;;
        esac
{delegates}        # From its first argument on, this is the command line of another program.
        case $command in
            {delegating})
                if ((count > 0)); then
                    _command_offset "$i"
                    return
                elif [[ $only_arguments ]]; then
                    _command_offset "$((i + 1))"
                    return
                fi
                ;;
        esac
    done

    $split && option=$prev
    if [[ $option ]]; then
        _PROGRAM_value "$command" "$option"
    elif [[ $cur == -* && ! $only_arguments ]]; then
        _PROGRAM_options "$command"
    else
        _PROGRAM_argument "$command" "$count"
    fi
}} && complete -F _PROGRAM {program}
"""

BASH_DAEMON = """
_PROGRAM()
{{
    local cur prev words cword split
    _init_completion -s || return
    if $split || _PROGRAM_takes_value '' "$prev"; then
        _PROGRAM_value '' "$prev"
    else
        _PROGRAM_options ''
    fi
}} && complete -F _PROGRAM {program}
"""


def spellings(option):
    return [f"--{option['name']}"] + ([f"-{option['letter']}"] if option["letter"] else [])


def bash_cases(command, options, tables, program):
    """For each option with a value, a pattern of "COMMAND OPTION" and the command that completes it."""
    for option in options:
        if not option["argument"]:
            continue
        first = f'"{command} ' if command is not None else '*" '
        pattern = " | ".join(f'{first}{word}"' for word in spellings(option))
        yield pattern, bash_action(option["value"], option["choices"], tables, program)


def bash_action(value, choices, tables, program):
    return (
        BASH_ACTIONS[value]
        .format(
            choices=choices,
            limits=" ".join(tables["limits"]),
            settings=" ".join(tables["settings"]),
        )
        .replace("PROGRAM", program)
    )


def indent(lines):
    return "\n".join(" " * 8 + line for line in lines)


def bash(tables, program):
    table = tables[program]
    commands = table.get("commands", [])
    cases = [
        case
        for command in commands
        for case in bash_cases(command["name"], command["options"], tables, program)
    ]
    # The globals come last, so that a command's own option of the same name wins.
    cases += bash_cases(None, table["options"], tables, program)
    arguments = []
    for command in commands:
        count = command["arguments_max"]
        if command["value"] in ("other", "command") or count == 0:
            continue
        pattern = (
            f'"{command["name"]} "*'
            if count < 0
            else " | ".join(f'"{command["name"]} {i}"' for i in range(count))
        )
        arguments.append(f"{pattern}) {bash_action(command['value'], '', tables, program)} ;;")
    # The first word of a command, as long as nothing else may come.
    arguments += [
        f'"{command["name"]} "*) _command_offset "$cword" ;;'
        for command in commands
        if command["value"] == "command"
    ]
    delegates = [name for name in DELEGATES if any(name == command["name"] for command in commands)]
    text = BASH_HEAD.format(
        program=program,
        helpers="{helpers}",
        values=indent(f"{pattern}) {action} ;;" for pattern, action in cases),
        valued=indent(f"{pattern}) ;;" for pattern, _ in cases),
        globals=" ".join(f"--{option['name']}" for option in table["options"]),
        options=indent(
            f"    {command['name']}) echo {' '.join('--' + o['name'] for o in command['options'])} ;;"
            for command in commands
            if command["options"]
        )
        or indent(["    *) ;;"]),
    ) + (BASH_CLIENT if commands else BASH_DAEMON).format(
        program=program,
        commands=" ".join(command["name"] for command in commands),
        arguments=indent(arguments),
        delegates="".join(
            f"        if [[ $command == {name} ]]; then\n            _PROGRAM_{name}\n            return\n        fi\n"
            for name in delegates
        ),
        delegating=" | ".join(c["name"] for c in commands if c["takes_command"] and c["name"] not in DELEGATES)
        or "-",  # no command
    )
    for name in delegates:
        text = text.replace("\n_PROGRAM()\n", BASH_DELEGATE.format(name=name, target=DELEGATES[name]) + "\n_PROGRAM()\n")
    text = text.replace("PROGRAM", program)
    used = "".join(
        helper
        for name, helper in BASH_HELPERS.items()
        if name.replace("PROGRAM", program) in text or name == "_PROGRAM_words"
    )
    return text.replace("{helpers}", used.replace("PROGRAM", program))


# --- zsh -----------------------------------------------------------------------------------------

ZSH_ACTIONS = {
    "other": " ",
    "file": "_files",
    "directory": "_files -/",
    "socket": '_files -g "*(-=)"',
    "choice": "({choices})",
    "task class": "_PROGRAM_task_classes",
    "named file": "_PROGRAM_named_file",
    "variable": "_PROGRAM_variable",
    "limit": "{{_PROGRAM_names {limits}}}",
    "setting": "{{_PROGRAM_names {settings}}}",
    "job": "_PROGRAM_jobs",
}

ZSH_HELPERS = {
    "_PROGRAM_names": """
# Completes the NAME= of NAME=VALUE.
_PROGRAM_names() {
  local -a known=("$@")
  if compset -P '*='; then
    _message value
  else
    _wanted names expl name compadd -qS= -a known
  fi
}
""",
    "_PROGRAM_named_file": """
_PROGRAM_named_file() {
  compset -P '*='
  _files
}
""",
    "_PROGRAM_variable": """
_PROGRAM_variable() {
  if compset -P '*='; then
    _message value
  else
    _parameters -g '*export*' -qS=
  fi
}
""",
    "_PROGRAM_task_classes": """
# Completes with the folders that have a rubric.py beneath the bench root of the command line.
_PROGRAM_task_classes() {
  local root=${opt_args[--bench-root]:-${opt_args[-b]}}
  local -a found
  root=${(Q)root}
  [[ -n $root ]] || { _message 'task class (give --bench-root first)'; return 1 }
  found=(${~root}/*/rubric.py(N:h:t))
  compadd "$expl[@]" -a found
}
""",
    "_PROGRAM_jobs": """
# Completes with the numbers of the running jobs.
_PROGRAM_jobs() {
  local -a found
  local socket=${opt_args[--socket]:-${opt_args[-s]:-${before[--socket]:-${before[-s]}}}}
  found=(${(f)"$(timeout 2 rubricctl ${socket:+--socket=${(Q)socket}} status --json 2>/dev/null </dev/null |
    grep -o '"job":{"job_no":[0-9]*' | grep -o '[0-9]*$')"})
  _wanted jobs expl job compadd -a found
}
""",
}

ZSH_CLIENT = """#compdef {program}
# Generated from the program's own table of options; do not edit.
{helpers}
_PROGRAM_commands() {{
  local -a list=(
{commands}
    'help:explain a command'
  )
  _describe -t commands command list
}}

_PROGRAM() {{
  local curcontext=$curcontext state ret=1
  local -a line expl globals=(
{globals}
  )
  typeset -A opt_args

  _arguments -C -S $globals '1: :_PROGRAM_commands' '*:: :->arguments' && return
  [[ $state == arguments ]] || return
  # The words before the command.
  local -A before=("${{(@kv)opt_args}}")
  curcontext=${{curcontext%:*:*}}:PROGRAM-$words[1]:
  case $words[1] in
{cases}
    help)
      _arguments '1: :_PROGRAM_commands' && ret=0
      ;;
  esac
  return ret
}}

_PROGRAM "$@"
"""

ZSH_DAEMON = """#compdef {program}
# Generated from the program's own table of options; do not edit.
{helpers}
_PROGRAM() {{
  local -a expl
  _arguments -S \\
{globals}
}}

_PROGRAM "$@"
"""


def zsh_quote(text):
    """TEXT escaped for a description inside brackets or between colons."""
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def zsh_option(option, tables):
    """One argument of _arguments, quoted for the shell."""
    value = ""
    what = option["argument"] or option["optional_argument"]
    if what:
        if "range" in option:
            what += " ({} to {})".format(*option["range"])
        action = ZSH_ACTIONS[option["value"]].format(
            choices=(option["choices"] or "").replace(":", r"\:"),
            limits=" ".join(tables["limits"]),
            settings=" ".join(tables["settings"]),
        )
        optional = ":" if option["optional_argument"] else ""
        value = f":{optional}{zsh_quote(what)}:{action}"
    text = f"[{zsh_quote(option['help'])}]{value}"
    # An optional value is part of the same word: -w10, --watch=10.
    long = f"--{option['name']}" + ("=" if option["argument"] else "=-" if what else "")
    star = "*" if option["repeatable"] else ""
    if not option["letter"]:
        return shlex.quote(f"{star}{long}{text}")
    short = f"-{option['letter']}" + ("+" if option["argument"] else "-" if what else "")
    alone = "" if star else f"(-{option['letter']} --{option['name']})"
    return f"{shlex.quote(star + alone)}{{{short},{long}}}{shlex.quote(text)}"


def zsh_arguments(command, tables):
    """The specification for _arguments of the words that are no options."""
    if command["takes_command"]:
        return ["'(-)1:command: _command_names -e'", "'*::argument: _normal'"]
    if command["arguments_max"] == 0 or command["value"] == "other":
        return []
    action = ZSH_ACTIONS[command["value"]].format(limits="", settings="", choices="")
    what = zsh_quote(command["arguments"].strip("[].")) + ":" + action
    if command["arguments_max"] < 0:
        return [shlex.quote(f"*:{what}")]
    return [shlex.quote(f"{i + 1}:{what}") for i in range(command["arguments_max"])]


def zsh_case(command, tables):
    if command["name"] in DELEGATES:
        body = f"      words[1]={DELEGATES[command['name']]}\n      _normal && ret=0"
        return f"    {command['name']})\n{body}\n      ;;"
    lines = [zsh_option(option, tables) for option in command["options"]]
    lines += zsh_arguments(command, tables)
    body = " \\\n".join(f"        {line}" for line in ["_arguments -S $globals", *lines])
    return f"    {command['name']})\n{body[2:]} && ret=0\n      ;;"


def zsh(tables, program):
    table = tables[program]
    commands = table.get("commands", [])
    options = [zsh_option(option, tables) for option in table["options"]]
    between = "\n" if commands else " \\\n"
    text = (ZSH_CLIENT if commands else ZSH_DAEMON).format(
        program=program,
        helpers="{helpers}",
        commands="\n".join(
            "    " + shlex.quote(f"{c['name']}:{zsh_quote(c['brief'])}") for c in commands
        ),
        globals=between.join("    " + option for option in options),
        cases="\n".join(zsh_case(command, tables) for command in commands),
    )
    text = text.replace("PROGRAM", program)
    used = "".join(
        helper for name, helper in ZSH_HELPERS.items() if name.replace("PROGRAM", program) in text
    )
    return text.replace("{helpers}", used.replace("PROGRAM", program))


def main():
    shell, program, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        tables = json.load(file)
    sys.stdout.write({"bash": bash, "zsh": zsh}[shell](tables, program))


if __name__ == "__main__":
    main()
