"""Completion of the studies' command lines in a shell: commands, presets, keys and their words.

    source <(python -m experiments.completion bash)      # or zsh; for this shell
    python -m experiments.completion bash >> ~/.bashrc   # for every shell

Prints a script that holds all names; nothing is imported when the Tab key is pressed.
"""

from collections.abc import Iterator, Sequence

from experiments import glossary
from experiments.shell import presets, usage
from jaxzero import arguments
from jaxzero.settings.config import KEYS, ConfigError, nearest
from jaxzero.settings.keys import Key, table

SHELLS = ("bash", "zsh")

# `_jaxzero_found STUDY WORD`: what WORD may become, up to the next dot or equals sign.
_CORE = """\
# Completion of `python -m experiments.STUDY`, made by `python -m experiments.completion {shell}`.
_jaxzero_modules() {{
  printf 'experiments.%s\\n' {studies}
}}
_jaxzero_words() {{
  cat <<'END'
{common}
END
  case $1 in
{own}
  esac
}}
_jaxzero_found() {{
  case " {studies} " in
    *" $1 "*) _jaxzero_words "$1" ;;
  esac | WORD=$2 awk '
    index($0, ENVIRON["WORD"]) == 1 {{
      rest = substr($0, length(ENVIRON["WORD"]) + 1)
      if (!index(ENVIRON["WORD"], "=") && match(rest, /[.=]/)) rest = substr(rest, 1, RSTART)
      if (rest != "" && !seen[rest]++) print ENVIRON["WORD"] rest
    }}'
}}
"""
_OWN = """\
    {study}) cat <<'END'
{words}
END
      ;;"""
_ADAPTERS = {
    # Bash hands over what follows the last of COMP_WORDBREAKS, = and : among them.
    "bash": r"""
_jaxzero() {
  local line=${COMP_LINE:0:COMP_POINT} word before found
  word=${line##*[[:space:]]}
  before=${word%"${word##*[$COMP_WORDBREAKS]}"}
  COMPREPLY=()
  while IFS= read -r found; do
    COMPREPLY+=("${found#"$before"}")
    case $found in *[.=]) compopt -o nospace ;; esac
  done < <(
    if [[ $line =~ [[:space:]]-m[[:space:]]+experiments\.([a-z_]+)[[:space:]] ]]; then
      _jaxzero_found "${BASH_REMATCH[1]}" "$word"
    elif [[ $line =~ [[:space:]]-m[[:space:]]+[^[:space:]]*$ ]]; then
      compgen -W "$(_jaxzero_modules)" -- "$word"
    fi
  )
}
complete -o bashdefault -o default -F _jaxzero python python3
""",
    "zsh": r"""
_jaxzero() {
  local at=${words[(i)-m]}
  local -a found
  if (( CURRENT == at + 1 )); then
    compadd -- ${(f)"$(_jaxzero_modules)"}
    return
  fi
  found=(${(f)"$(_jaxzero_found ${words[at+1]#experiments.} $PREFIX)"})
  if (( $#found )); then compadd -Q -S '' -- $found; else _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _jaxzero python python3
""",
}


def script(shell: str) -> str:
    """What the shell is to evaluate. ConfigError: another shell."""
    if shell not in SHELLS:
        raise ConfigError(f"shell {shell!r}: {nearest(shell, SHELLS)}")
    studies = glossary.study_keys()
    common = table(KEYS)
    own = "\n".join(
        _OWN.format(study=study, words="\n".join(_of_study(study, keys)))
        for study, keys in studies.items()
    )
    core = _CORE.format(
        shell=shell,
        studies=" ".join(studies),
        common="\n".join(word for key in common.values() for word in _of_key(key)),
        own=own,
    )
    return core + _ADAPTERS[shell]


def _of_study(study: str, keys: Sequence[Key]) -> Iterator[str]:
    """Presets, flags, and the keys that are not everybody's."""
    for preset in presets.names(study):
        yield f"--config=experiments/configs/{study}.py:{preset}"
    own = table(keys)
    yield from (f"--{n}=" for n in usage.FLAGS if n not in ("config", "help", "shard"))
    yield from ("--help", *(["--shard="] if usage.has_shares(own) else []))
    # The preset is no setting: it stands behind the file.
    yield from (word for key in own.values() if key.name != "preset" for word in _of_key(key))


def _of_key(key: Key) -> Iterator[str]:
    """A flag for each word that the key may be, and the flag alone where it may be others."""
    words = key.choices or (("True", "False") if key.kind is bool else ("",))
    unset = (usage.UNSET,) if key.default is None else ()
    yield from (f"--config.{key.name}={word}" for word in (*words, *unset))


def main(words: Sequence[str] | None = None) -> None:
    parser = arguments.Parser(prog="python -m experiments.completion", description=__doc__)
    parser.add_argument("shell", metavar="SHELL", help=f"one of {', '.join(SHELLS)}")
    print(script(parser.parse(words).shell), end="")


if __name__ == "__main__":
    arguments.run(main)
