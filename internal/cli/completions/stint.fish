# fish completion for stint. fish takes apart what was typed, and quotes what it puts onto the command line.

function __stint_complete
    set -l typed (commandline -opc)
    type -q $typed[1]; or return
    # The word that is typed may be in a quote still.
    set -l raw (commandline -ct)
    set -l current (string unescape -- "$raw"; or string unescape -- "$raw'"; or string unescape -- "$raw\"")
    set -l answer ($typed[1] __complete $typed[2..-1] "$current" 2>/dev/null)
    set -l directive (string match -r -g '^:([0-9]+)$' -- $answer[-1]); or return
    # Names for a flag with its value in one word stand behind the flag.
    set -l flag (string match -r -- '^-[^=]*=' "$current")
    for line in $answer[1..-2]
        printf '%s\n' "$flag$line"
    end
    if test (math "bitand($directive, 16)") -ne 0
        __fish_complete_directories "$current" ''
    else if test (math "bitand($directive, 4)") -eq 0
        __fish_complete_path "$current"
    end
end

complete -c stint -e
complete -c stint -k -f -a '(__stint_complete)'
