#compdef alignck

autoload -U is-at-least

_alignck() {
    typeset -A opt_args
    typeset -a _arguments_options
    local ret=1

    if is-at-least 5.2; then
        _arguments_options=(-s -S -C)
    else
        _arguments_options=(-s -C)
    fi

    local context curcontext="$curcontext" state line
    _arguments "${_arguments_options[@]}" : \
'*-t+[Pretend that the device reports this\: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm]:KEY=VALUE,...:_default' \
'*--topology=[Pretend that the device reports this\: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm]:KEY=VALUE,...:_default' \
'--physical-sector=[Judge by physical sectors of this size, whatever is reported]:BYTES:_default' \
'--fail-on=[What makes the exit code 1]:WHAT:((misaligned\:"A partition off the physical sectors"
suboptimal\:"Also a partition off the optimal I/O size"
never\:"Nothing\: only what could not be done and bad tables"))' \
'--sysroot=[Take /sys, /dev and /run from below this folder\: a recorded machine]:FOLDER:_files' \
'--all[Check every whole disk of this machine]' \
'--json[Print one JSON document, and nothing else, on standard output]' \
'-v[Show all of every disk; of several disks, those that are all right take one line otherwise]' \
'--verbose[Show all of every disk; of several disks, those that are all right take one line otherwise]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'::disks -- Block device, image file, or - for an image on standard input; a partition leads to its disk:_files' \
":: :_alignck_commands" \
"*::: :->alignck" \
&& ret=0
    case $state in
    (alignck)
        words=($line[2] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:alignck-command-$line[2]:"
        case $line[2] in
            (check)
_arguments "${_arguments_options[@]}" : \
'*-t+[Pretend that the device reports this\: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm]:KEY=VALUE,...:_default' \
'*--topology=[Pretend that the device reports this\: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm]:KEY=VALUE,...:_default' \
'--physical-sector=[Judge by physical sectors of this size, whatever is reported]:BYTES:_default' \
'--fail-on=[What makes the exit code 1]:WHAT:((misaligned\:"A partition off the physical sectors"
suboptimal\:"Also a partition off the optimal I/O size"
never\:"Nothing\: only what could not be done and bad tables"))' \
'--sysroot=[Take /sys, /dev and /run from below this folder\: a recorded machine]:FOLDER:_files' \
'--all[Check every whole disk of this machine]' \
'--json[Print one JSON document, and nothing else, on standard output]' \
'-v[Show all of every disk; of several disks, those that are all right take one line otherwise]' \
'--verbose[Show all of every disk; of several disks, those that are all right take one line otherwise]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::disks -- Block device, image file, or - for an image on standard input; a partition leads to its disk:_files' \
&& ret=0
;;
(explain)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
'::code -- The code of the finding, such as start-off-physical:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_alignck__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:alignck-help-command-$line[1]:"
        case $line[1] in
            (check)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(explain)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
}

(( $+functions[_alignck_commands] )) ||
_alignck_commands() {
    local commands; commands=(
'check:Say which partitions are misaligned, and why' \
'explain:Say what a finding means and what to do; without a code, list them all' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'alignck commands' commands "$@"
}
(( $+functions[_alignck__subcmd__check_commands] )) ||
_alignck__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'alignck check commands' commands "$@"
}
(( $+functions[_alignck__subcmd__explain_commands] )) ||
_alignck__subcmd__explain_commands() {
    local commands; commands=()
    _describe -t commands 'alignck explain commands' commands "$@"
}
(( $+functions[_alignck__subcmd__help_commands] )) ||
_alignck__subcmd__help_commands() {
    local commands; commands=(
'check:Say which partitions are misaligned, and why' \
'explain:Say what a finding means and what to do; without a code, list them all' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'alignck help commands' commands "$@"
}
(( $+functions[_alignck__subcmd__help__subcmd__check_commands] )) ||
_alignck__subcmd__help__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'alignck help check commands' commands "$@"
}
(( $+functions[_alignck__subcmd__help__subcmd__explain_commands] )) ||
_alignck__subcmd__help__subcmd__explain_commands() {
    local commands; commands=()
    _describe -t commands 'alignck help explain commands' commands "$@"
}
(( $+functions[_alignck__subcmd__help__subcmd__help_commands] )) ||
_alignck__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'alignck help help commands' commands "$@"
}

if [ "$funcstack[1]" = "_alignck" ]; then
    _alignck "$@"
else
    compdef _alignck alignck
fi
