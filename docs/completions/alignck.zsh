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
'--sysroot=[Take /sys, /dev and /run from below this folder\: a recorded machine]:FOLDER:_files' \
'--fail-on=[What makes the exit code 1]:WHAT:((misaligned\:"A partition off the physical sectors"
suboptimal\:"Also a partition off the optimal I/O size"
never\:"Nothing\: only what could not be done and bad tables"))' \
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
'--sysroot=[Take /sys, /dev and /run from below this folder\: a recorded machine]:FOLDER:_files' \
'--fail-on=[What makes the exit code 1]:WHAT:((misaligned\:"A partition off the physical sectors"
suboptimal\:"Also a partition off the optimal I/O size"
never\:"Nothing\: only what could not be done and bad tables"))' \
'--all[Check every whole disk of this machine]' \
'--json[Print one JSON document, and nothing else, on standard output]' \
'-v[Show all of every disk; of several disks, those that are all right take one line otherwise]' \
'--verbose[Show all of every disk; of several disks, those that are all right take one line otherwise]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::disks -- Block device, image file, or - for an image on standard input; a partition leads to its disk:_files' \
&& ret=0
;;
(plan)
_arguments "${_arguments_options[@]}" : \
'*-s+[A partition\: 10G, 512M,type=esp,name=EFI, 2048s (sectors), 25%, rest; K, M, G, T are powers of 1024, kB, MB, ... of 1000]:SIZE[,type=TYPE][,name=NAME]:_default' \
'*--size=[A partition\: 10G, 512M,type=esp,name=EFI, 2048s (sectors), 25%, rest; K, M, G, T are powers of 1024, kB, MB, ... of 1000]:SIZE[,type=TYPE][,name=NAME]:_default' \
'--table=[The kind of table; without it that of the disk, else gpt]:KIND:((gpt\:"GUID partition table"
mbr\:"The table of the PC BIOS, also called DOS or msdos"))' \
'--align=[Where partitions begin\: on the optimal grid of the disk, or only on its physical sectors]:POLICY:((optimal\:"On the optimal grid of the disk, at least on whole MiB"
minimal\:"On the physical sectors, and no coarser"))' \
'--grain=[Let partitions begin on multiples of this size, such as 4M for a memory card]:SIZE:_default' \
'--primaries=[How many partitions of an MBR are primary, beside logical ones]:N:_default' \
'--disk-size=[The size of the disk where there is none yet; without it as large as needed]:SIZE:_default' \
'-o+[What to print\: a table to read, JSON, or what makes sfdisk, sgdisk or parted do it]:FORMAT:((table\:"A table to read"
json\:"A document for programs"
sfdisk\:"A script for the input of sfdisk"
sgdisk\:"A command line of sgdisk"
parted\:"A command line of parted"))' \
'--output=[What to print\: a table to read, JSON, or what makes sfdisk, sgdisk or parted do it]:FORMAT:((table\:"A table to read"
json\:"A document for programs"
sfdisk\:"A script for the input of sfdisk"
sgdisk\:"A command line of sgdisk"
parted\:"A command line of parted"))' \
'*-t+[Pretend that the device reports this\: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm]:KEY=VALUE,...:_default' \
'*--topology=[Pretend that the device reports this\: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm]:KEY=VALUE,...:_default' \
'--physical-sector=[Judge by physical sectors of this size, whatever is reported]:BYTES:_default' \
'--sysroot=[Take /sys, /dev and /run from below this folder\: a recorded machine]:FOLDER:_files' \
'(--disk-size)--keep[Keep the partitions that are there, and use the free space beside them, containers included]' \
'(-o --output)--json[The same as --output json]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::operands -- The disk or image that the layout is for, as it is now (nothing is written to it); and after a size xN, which asks for it N times:_default' \
&& ret=0
;;
(apply)
_arguments "${_arguments_options[@]}" : \
'--backup=[Save what is replaced in this new file, or in this folder; without it in the user'\''s state folder]:PATH:_files' \
'*-t+[Pretend that the device reports this\: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm]:KEY=VALUE,...:_default' \
'*--topology=[Pretend that the device reports this\: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm]:KEY=VALUE,...:_default' \
'--physical-sector=[Judge by physical sectors of this size, whatever is reported]:BYTES:_default' \
'--wipe[Clear file systems that begin where new partitions do (they are in the backup too)]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'(-y --yes)-n[Show what would be written, and write nothing]' \
'(-y --yes)--dry-run[Show what would be written, and write nothing]' \
'--json[Print one JSON document, and nothing else, on standard output]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':plan -- The plan, as `alignck plan --json` prints it; - for standard input:_files' \
':disk -- The whole disk or image to write it to:_files' \
&& ret=0
;;
(fix)
_arguments "${_arguments_options[@]}" : \
'*-p+[Move this partition; may be given again. Without it all that are misaligned]:N:_default' \
'*--partition=[Move this partition; may be given again. Without it all that are misaligned]:N:_default' \
'--to=[The sector at which the one partition that is named shall begin]:LBA:_default' \
'--journal=[The journal of the move\: a new file or a folder for it, on another disk]:PATH:_files' \
'--progress=[How the progress is shown on standard error]:HOW:((bar\:"A bar, where it is a terminal"
json\:"One JSON object a line"
none\:"Not at all"))' \
'--backup=[Save what is replaced in this new file, or in this folder; without it in the user'\''s state folder]:PATH:_files' \
'*-t+[Pretend that the device reports this\: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm]:KEY=VALUE,...:_default' \
'*--topology=[Pretend that the device reports this\: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm]:KEY=VALUE,...:_default' \
'--physical-sector=[Judge by physical sectors of this size, whatever is reported]:BYTES:_default' \
'(--verify --skip-bad --journal)--table-only[Change the table only, and move no bytes\: for partitions that hold nothing]' \
'--force[Also over what lies in front of the first partition, and to a place off the physical sectors]' \
'--verify[Read back everything that has moved, and compare it]' \
'--skip-bad[Write zeros for sectors that cannot be read, and list them]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'(-y --yes)-n[Show what would be written, and write nothing]' \
'(-y --yes)--dry-run[Show what would be written, and write nothing]' \
'--json[Print one JSON document, and nothing else, on standard output]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':disk -- The whole disk or image:_files' \
&& ret=0
;;
(convert)
_arguments "${_arguments_options[@]}" : \
'--to=[The sector size that the table shall count in\: 512 or 4096]:BYTES:_default' \
'--backup=[Save what is replaced in this new file, or in this folder; without it in the user'\''s state folder]:PATH:_files' \
'*-t+[Pretend that the device reports this\: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm]:KEY=VALUE,...:_default' \
'*--topology=[Pretend that the device reports this\: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm]:KEY=VALUE,...:_default' \
'--physical-sector=[Judge by physical sectors of this size, whatever is reported]:BYTES:_default' \
'--force[Convert it even for sectors that this device does not have]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'(-y --yes)-n[Show what would be written, and write nothing]' \
'(-y --yes)--dry-run[Show what would be written, and write nothing]' \
'--json[Print one JSON document, and nothing else, on standard output]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':disk -- The whole disk or image:_files' \
&& ret=0
;;
(resume)
_arguments "${_arguments_options[@]}" : \
'--journal=[The journal of the move\: a new file or a folder for it, on another disk]:PATH:_files' \
'--progress=[How the progress is shown on standard error]:HOW:((bar\:"A bar, where it is a terminal"
json\:"One JSON object a line"
none\:"Not at all"))' \
'--backup=[Save what is replaced in this new file, or in this folder; without it in the user'\''s state folder]:PATH:_files' \
'--verify[Read back everything that has moved, and compare it]' \
'--skip-bad[Write zeros for sectors that cannot be read, and list them]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'(-y --yes)-n[Show what would be written, and write nothing]' \
'(-y --yes)--dry-run[Show what would be written, and write nothing]' \
'--json[Print one JSON document, and nothing else, on standard output]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':disk -- The whole disk or image:_files' \
'::from -- The backup of the write; without it the newest of this disk that is unfinished:_files' \
&& ret=0
;;
(undo)
_arguments "${_arguments_options[@]}" : \
'--journal=[The journal of the move\: a new file or a folder for it, on another disk]:PATH:_files' \
'--progress=[How the progress is shown on standard error]:HOW:((bar\:"A bar, where it is a terminal"
json\:"One JSON object a line"
none\:"Not at all"))' \
'--backup=[Save what is replaced in this new file, or in this folder; without it in the user'\''s state folder]:PATH:_files' \
'--force[Put the old bytes back even where something else wrote since]' \
'--verify[Read back everything that has moved, and compare it]' \
'--skip-bad[Write zeros for sectors that cannot be read, and list them]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'(-y --yes)-n[Show what would be written, and write nothing]' \
'(-y --yes)--dry-run[Show what would be written, and write nothing]' \
'--json[Print one JSON document, and nothing else, on standard output]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':disk -- The whole disk or image:_files' \
'::from -- The backup to put back; without it the newest of this disk that was not put back yet:_files' \
&& ret=0
;;
(probe)
_arguments "${_arguments_options[@]}" : \
'--write[Write blocks back as they were read\: without it nothing can be measured]' \
'-y[Do not ask]' \
'--yes[Do not ask]' \
'--json[Print one JSON document, and nothing else, on standard output]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':disk -- A whole disk that nobody uses, or a scratch file on the disk (of 256 MiB, with no holes):_files' \
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
(plan)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(apply)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(fix)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(convert)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(resume)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(undo)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(probe)
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
'plan:Lay out a disk so that every partition is aligned; nothing is written' \
'apply:Write a layout that was planned, after a backup and a question' \
'fix:Move misaligned partitions to where they should be, with every byte; safe against power cuts' \
'convert:Rewrite a table for sectors of another size; every partition keeps its bytes' \
'resume:Finish a write or a move that was cut off' \
'undo:Put back what a write or a move changed, byte for byte' \
'probe:Find the physical sectors of a disk by timing, whatever it reports' \
'explain:Say what a finding means and what to do; without a code, list them all' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'alignck commands' commands "$@"
}
(( $+functions[_alignck__subcmd__apply_commands] )) ||
_alignck__subcmd__apply_commands() {
    local commands; commands=()
    _describe -t commands 'alignck apply commands' commands "$@"
}
(( $+functions[_alignck__subcmd__check_commands] )) ||
_alignck__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'alignck check commands' commands "$@"
}
(( $+functions[_alignck__subcmd__convert_commands] )) ||
_alignck__subcmd__convert_commands() {
    local commands; commands=()
    _describe -t commands 'alignck convert commands' commands "$@"
}
(( $+functions[_alignck__subcmd__explain_commands] )) ||
_alignck__subcmd__explain_commands() {
    local commands; commands=()
    _describe -t commands 'alignck explain commands' commands "$@"
}
(( $+functions[_alignck__subcmd__fix_commands] )) ||
_alignck__subcmd__fix_commands() {
    local commands; commands=()
    _describe -t commands 'alignck fix commands' commands "$@"
}
(( $+functions[_alignck__subcmd__help_commands] )) ||
_alignck__subcmd__help_commands() {
    local commands; commands=(
'check:Say which partitions are misaligned, and why' \
'plan:Lay out a disk so that every partition is aligned; nothing is written' \
'apply:Write a layout that was planned, after a backup and a question' \
'fix:Move misaligned partitions to where they should be, with every byte; safe against power cuts' \
'convert:Rewrite a table for sectors of another size; every partition keeps its bytes' \
'resume:Finish a write or a move that was cut off' \
'undo:Put back what a write or a move changed, byte for byte' \
'probe:Find the physical sectors of a disk by timing, whatever it reports' \
'explain:Say what a finding means and what to do; without a code, list them all' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'alignck help commands' commands "$@"
}
(( $+functions[_alignck__subcmd__help__subcmd__apply_commands] )) ||
_alignck__subcmd__help__subcmd__apply_commands() {
    local commands; commands=()
    _describe -t commands 'alignck help apply commands' commands "$@"
}
(( $+functions[_alignck__subcmd__help__subcmd__check_commands] )) ||
_alignck__subcmd__help__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'alignck help check commands' commands "$@"
}
(( $+functions[_alignck__subcmd__help__subcmd__convert_commands] )) ||
_alignck__subcmd__help__subcmd__convert_commands() {
    local commands; commands=()
    _describe -t commands 'alignck help convert commands' commands "$@"
}
(( $+functions[_alignck__subcmd__help__subcmd__explain_commands] )) ||
_alignck__subcmd__help__subcmd__explain_commands() {
    local commands; commands=()
    _describe -t commands 'alignck help explain commands' commands "$@"
}
(( $+functions[_alignck__subcmd__help__subcmd__fix_commands] )) ||
_alignck__subcmd__help__subcmd__fix_commands() {
    local commands; commands=()
    _describe -t commands 'alignck help fix commands' commands "$@"
}
(( $+functions[_alignck__subcmd__help__subcmd__help_commands] )) ||
_alignck__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'alignck help help commands' commands "$@"
}
(( $+functions[_alignck__subcmd__help__subcmd__plan_commands] )) ||
_alignck__subcmd__help__subcmd__plan_commands() {
    local commands; commands=()
    _describe -t commands 'alignck help plan commands' commands "$@"
}
(( $+functions[_alignck__subcmd__help__subcmd__probe_commands] )) ||
_alignck__subcmd__help__subcmd__probe_commands() {
    local commands; commands=()
    _describe -t commands 'alignck help probe commands' commands "$@"
}
(( $+functions[_alignck__subcmd__help__subcmd__resume_commands] )) ||
_alignck__subcmd__help__subcmd__resume_commands() {
    local commands; commands=()
    _describe -t commands 'alignck help resume commands' commands "$@"
}
(( $+functions[_alignck__subcmd__help__subcmd__undo_commands] )) ||
_alignck__subcmd__help__subcmd__undo_commands() {
    local commands; commands=()
    _describe -t commands 'alignck help undo commands' commands "$@"
}
(( $+functions[_alignck__subcmd__plan_commands] )) ||
_alignck__subcmd__plan_commands() {
    local commands; commands=()
    _describe -t commands 'alignck plan commands' commands "$@"
}
(( $+functions[_alignck__subcmd__probe_commands] )) ||
_alignck__subcmd__probe_commands() {
    local commands; commands=()
    _describe -t commands 'alignck probe commands' commands "$@"
}
(( $+functions[_alignck__subcmd__resume_commands] )) ||
_alignck__subcmd__resume_commands() {
    local commands; commands=()
    _describe -t commands 'alignck resume commands' commands "$@"
}
(( $+functions[_alignck__subcmd__undo_commands] )) ||
_alignck__subcmd__undo_commands() {
    local commands; commands=()
    _describe -t commands 'alignck undo commands' commands "$@"
}

if [ "$funcstack[1]" = "_alignck" ]; then
    _alignck "$@"
else
    compdef _alignck alignck
fi
