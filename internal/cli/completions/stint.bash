# bash completion for stint. What was typed is taken apart here and never evaluated; what is offered is quoted, since
# bash puts what several names have in common onto the command line as it is.

# __stint_word WORD sets word and quote to what a word means and the quote that it is still in. Variables and commands
# in it stay text.
__stint_word() {
  local rest=$1 char
  word='' quote=''
  while [[ -n $rest ]]; do
    char=${rest:0:1} rest=${rest:1}
    case $quote$char in
      \' | \") quote=$char ;;
      \'\' | \"\") quote='' ;;
      \'*) word+=$char ;;
      \\ | \"\\) word+=${rest:0:1} rest=${rest:1} ;;
      *) word+=$char ;;
    esac
  done
}

# __stint_quote NAME sets quoted to what stands for it on the command line, or fails where the quote that the word is
# in cannot hold it.
__stint_quote() {
  case $quote in
    \') quoted=$1 && [[ $1 != *\'* ]] ;;
    \") quoted=$1 && [[ $1 != *[\"\$\`\\!]* ]] ;;
    *) printf -v quoted %q "$1" ;;
  esac
}

_stint() {
  local line=${COMP_LINE:0:COMP_POINT} gap word quote quoted i
  local words=() typed=()
  # Readline parts words at = and :, too; only blanks count here.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    gap=${line%%[![:blank:]]*}
    line=${line#"$gap"}
    word=${COMP_WORDS[i]}
    ((i < COMP_CWORD)) || word=$line
    if [[ $i == 0 || -n $gap ]]; then
      words+=("$word")
    else
      words[${#words[@]} - 1]+=$word
    fi
    line=${line#"$word"}
  done
  for i in "${!words[@]}"; do
    __stint_word "${words[i]}"
    [[ ${words[i]} != '~/'* ]] || word=$HOME${word:1}
    typed+=("$word")
  done

  local answer
  answer=$("${typed[0]}" __complete "${typed[@]:1}" 2>/dev/null) || return
  local directive=${answer##*:} tab=$'\t' cut='' name about longest=0
  [[ $directive == [0-9]* ]] || return
  ((directive & 4)) && compopt +o default
  ((directive & 2)) && compopt -o nospace
  ((directive & 32)) && compopt -o nosort 2>/dev/null
  ((directive & 16)) && compopt -o dirnames
  # What is before the last = or : in a word, readline leaves alone.
  if [[ -z $quote ]]; then
    [[ $word != -*=* ]] || word=${word#*=}
    for i in : =; do
      [[ $COMP_WORDBREAKS != *$i* || $word != *$i* ]] || cut=${word%"${word##*"$i"}"}
    done
  fi
  local names=() abouts=()
  while IFS= read -r name; do
    about=''
    [[ $name != *$tab* ]] || about=${name#*"$tab"}
    __stint_quote "${name%%"$tab"*}" || continue
    quoted=${quoted#"$cut"}
    names+=("$quoted") abouts+=("$about")
    ((${#quoted} <= longest)) || longest=${#quoted}
  done < <([[ $answer != *$'\n'* ]] || printf '%s\n' "${answer%$'\n'*}")

  # A name alone is what is put onto the command line; of several, the descriptions are shown beside them.
  if ((${#names[@]} < 2 || COMP_TYPE == 37 || COMP_TYPE == 42)); then
    COMPREPLY=("${names[@]}")
    return
  fi
  local room=$((${COLUMNS:-80} - longest - 4))
  COMPREPLY=()
  for i in "${!names[@]}"; do
    about=${abouts[i]:0:room > 8 ? room : 0}
    [[ -z $about ]] || printf -v about "%$((longest - ${#names[i]}))s  (%s)" '' "$about"
    COMPREPLY+=("${names[i]}$about")
  done
}

complete -o default -F _stint stint
