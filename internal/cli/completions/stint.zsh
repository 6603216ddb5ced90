#compdef stint
# zsh completion for stint. What was typed is unquoted and never evaluated; zsh quotes what it puts onto the command
# line.

_stint() {
  local -a typed lines names
  typed=("${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}")
  typed[1]=${typed[1]/#\~\//$HOME/}
  lines=("${(@f)$("$typed[1]" __complete "${(@)typed[2,-1]}" 2>/dev/null)}")
  [[ $lines[-1] == :<-> ]] || return 1
  local directive=${lines[-1]#:} line name
  lines[-1]=()
  for line in "${(@)lines}"; do
    [[ -n $line ]] || continue
    name=${line%%$'\t'*}
    name=${${name//\\/\\\\}//:/\\:}
    [[ $line == *$'\t'* ]] && name+=:${line#*$'\t'}
    names+=("$name")
  done
  [[ $PREFIX == -*=* ]] && compset -P '*='
  local -a how order
  ((directive & 2)) && how=(-S '')
  ((directive & 32)) && order=(-V)
  _describe $order -t names name names $how && return
  ((directive & 16)) && { _files -/; return }
  ((directive & 4)) || { _files; return }
  return 1
}

# As a file of $fpath this is the function's body; sourced, it has to be made known.
if [[ $funcstack[1] == _stint ]]; then
  _stint "$@"
else
  compdef _stint stint
fi
