# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_alignck_global_optspecs
    string join \n all t/topology= physical-sector= sysroot= json fail-on= v/verbose h/help V/version
end

function __fish_alignck_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_alignck_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_alignck_using_subcommand
    set -l cmd (__fish_alignck_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c alignck -n "__fish_alignck_needs_command" -s t -l topology -d 'Pretend that the device reports this: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm' -r
complete -c alignck -n "__fish_alignck_needs_command" -l physical-sector -d 'Judge by physical sectors of this size, whatever is reported' -r
complete -c alignck -n "__fish_alignck_needs_command" -l sysroot -d 'Take /sys, /dev and /run from below this folder: a recorded machine' -r -F
complete -c alignck -n "__fish_alignck_needs_command" -l fail-on -d 'What makes the exit code 1' -r -f -a "misaligned\t'A partition off the physical sectors'
suboptimal\t'Also a partition off the optimal I/O size'
never\t'Nothing: only what could not be done and bad tables'"
complete -c alignck -n "__fish_alignck_needs_command" -l all -d 'Check every whole disk of this machine'
complete -c alignck -n "__fish_alignck_needs_command" -l json -d 'Print one JSON document, and nothing else, on standard output'
complete -c alignck -n "__fish_alignck_needs_command" -s v -l verbose -d 'Show all of every disk; of several disks, those that are all right take one line otherwise'
complete -c alignck -n "__fish_alignck_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c alignck -n "__fish_alignck_needs_command" -s V -l version -d 'Print version'
complete -c alignck -n "__fish_alignck_needs_command" -a "check" -d 'Say which partitions are misaligned, and why'
complete -c alignck -n "__fish_alignck_needs_command" -a "plan" -d 'Lay out a disk so that every partition is aligned; nothing is written'
complete -c alignck -n "__fish_alignck_needs_command" -a "apply" -d 'Write a layout that was planned, after a backup and a question'
complete -c alignck -n "__fish_alignck_needs_command" -a "fix" -d 'Move misaligned partitions to where they should be, with every byte; safe against power cuts'
complete -c alignck -n "__fish_alignck_needs_command" -a "convert" -d 'Rewrite a table for sectors of another size; every partition keeps its bytes'
complete -c alignck -n "__fish_alignck_needs_command" -a "resume" -d 'Finish a write or a move that was cut off'
complete -c alignck -n "__fish_alignck_needs_command" -a "undo" -d 'Put back what a write or a move changed, byte for byte'
complete -c alignck -n "__fish_alignck_needs_command" -a "probe" -d 'Find the physical sectors of a disk by timing, whatever it reports'
complete -c alignck -n "__fish_alignck_needs_command" -a "explain" -d 'Say what a finding means and what to do; without a code, list them all'
complete -c alignck -n "__fish_alignck_needs_command" -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c alignck -n "__fish_alignck_using_subcommand check" -s t -l topology -d 'Pretend that the device reports this: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm' -r
complete -c alignck -n "__fish_alignck_using_subcommand check" -l physical-sector -d 'Judge by physical sectors of this size, whatever is reported' -r
complete -c alignck -n "__fish_alignck_using_subcommand check" -l sysroot -d 'Take /sys, /dev and /run from below this folder: a recorded machine' -r -F
complete -c alignck -n "__fish_alignck_using_subcommand check" -l fail-on -d 'What makes the exit code 1' -r -f -a "misaligned\t'A partition off the physical sectors'
suboptimal\t'Also a partition off the optimal I/O size'
never\t'Nothing: only what could not be done and bad tables'"
complete -c alignck -n "__fish_alignck_using_subcommand check" -l all -d 'Check every whole disk of this machine'
complete -c alignck -n "__fish_alignck_using_subcommand check" -l json -d 'Print one JSON document, and nothing else, on standard output'
complete -c alignck -n "__fish_alignck_using_subcommand check" -s v -l verbose -d 'Show all of every disk; of several disks, those that are all right take one line otherwise'
complete -c alignck -n "__fish_alignck_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c alignck -n "__fish_alignck_using_subcommand plan" -s s -l size -d 'A partition: 10G, 512M,type=esp,name=EFI, 2048s (sectors), 25%, rest; K, M, G, T are powers of 1024, kB, MB, ... of 1000' -r
complete -c alignck -n "__fish_alignck_using_subcommand plan" -l table -d 'The kind of table; without it that of the disk, else gpt' -r -f -a "gpt\t'GUID partition table'
mbr\t'The table of the PC BIOS, also called DOS or msdos'"
complete -c alignck -n "__fish_alignck_using_subcommand plan" -l align -d 'Where partitions begin: on the optimal grid of the disk, or only on its physical sectors' -r -f -a "optimal\t'On the optimal grid of the disk, at least on whole MiB'
minimal\t'On the physical sectors, and no coarser'"
complete -c alignck -n "__fish_alignck_using_subcommand plan" -l grain -d 'Let partitions begin on multiples of this size, such as 4M for a memory card' -r
complete -c alignck -n "__fish_alignck_using_subcommand plan" -l primaries -d 'How many partitions of an MBR are primary, beside logical ones' -r
complete -c alignck -n "__fish_alignck_using_subcommand plan" -l disk-size -d 'The size of the disk where there is none yet; without it as large as needed' -r
complete -c alignck -n "__fish_alignck_using_subcommand plan" -s o -l output -d 'What to print: a table to read, JSON, or what makes sfdisk, sgdisk or parted do it' -r -f -a "table\t'A table to read'
json\t'A document for programs'
sfdisk\t'A script for the input of sfdisk'
sgdisk\t'A command line of sgdisk'
parted\t'A command line of parted'"
complete -c alignck -n "__fish_alignck_using_subcommand plan" -s t -l topology -d 'Pretend that the device reports this: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm' -r
complete -c alignck -n "__fish_alignck_using_subcommand plan" -l physical-sector -d 'Judge by physical sectors of this size, whatever is reported' -r
complete -c alignck -n "__fish_alignck_using_subcommand plan" -l sysroot -d 'Take /sys, /dev and /run from below this folder: a recorded machine' -r -F
complete -c alignck -n "__fish_alignck_using_subcommand plan" -l keep -d 'Keep the partitions that are there, and use the free space beside them, containers included'
complete -c alignck -n "__fish_alignck_using_subcommand plan" -l json -d 'The same as --output json'
complete -c alignck -n "__fish_alignck_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c alignck -n "__fish_alignck_using_subcommand apply" -l backup -d 'Save what is replaced in this new file, or in this folder; without it in the user\'s state folder' -r -F
complete -c alignck -n "__fish_alignck_using_subcommand apply" -s t -l topology -d 'Pretend that the device reports this: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm' -r
complete -c alignck -n "__fish_alignck_using_subcommand apply" -l physical-sector -d 'Judge by physical sectors of this size, whatever is reported' -r
complete -c alignck -n "__fish_alignck_using_subcommand apply" -l wipe -d 'Clear file systems that begin where new partitions do (they are in the backup too)'
complete -c alignck -n "__fish_alignck_using_subcommand apply" -s y -l yes -d 'Do not ask'
complete -c alignck -n "__fish_alignck_using_subcommand apply" -s n -l dry-run -d 'Show what would be written, and write nothing'
complete -c alignck -n "__fish_alignck_using_subcommand apply" -l json -d 'Print one JSON document, and nothing else, on standard output'
complete -c alignck -n "__fish_alignck_using_subcommand apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c alignck -n "__fish_alignck_using_subcommand fix" -s p -l partition -d 'Move this partition; may be given again. Without it all that are misaligned' -r
complete -c alignck -n "__fish_alignck_using_subcommand fix" -l to -d 'The sector at which the one partition that is named shall begin' -r
complete -c alignck -n "__fish_alignck_using_subcommand fix" -l journal -d 'The journal of the move: a new file or a folder for it, on another disk' -r -F
complete -c alignck -n "__fish_alignck_using_subcommand fix" -l progress -d 'How the progress is shown on standard error' -r -f -a "bar\t'A bar, where it is a terminal'
json\t'One JSON object a line'
none\t'Not at all'"
complete -c alignck -n "__fish_alignck_using_subcommand fix" -l backup -d 'Save what is replaced in this new file, or in this folder; without it in the user\'s state folder' -r -F
complete -c alignck -n "__fish_alignck_using_subcommand fix" -s t -l topology -d 'Pretend that the device reports this: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm' -r
complete -c alignck -n "__fish_alignck_using_subcommand fix" -l physical-sector -d 'Judge by physical sectors of this size, whatever is reported' -r
complete -c alignck -n "__fish_alignck_using_subcommand fix" -l table-only -d 'Change the table only, and move no bytes: for partitions that hold nothing'
complete -c alignck -n "__fish_alignck_using_subcommand fix" -l force -d 'Also over what lies in front of the first partition, and to a place off the physical sectors'
complete -c alignck -n "__fish_alignck_using_subcommand fix" -l verify -d 'Read back everything that has moved, and compare it'
complete -c alignck -n "__fish_alignck_using_subcommand fix" -l skip-bad -d 'Write zeros for sectors that cannot be read, and list them'
complete -c alignck -n "__fish_alignck_using_subcommand fix" -s y -l yes -d 'Do not ask'
complete -c alignck -n "__fish_alignck_using_subcommand fix" -s n -l dry-run -d 'Show what would be written, and write nothing'
complete -c alignck -n "__fish_alignck_using_subcommand fix" -l json -d 'Print one JSON document, and nothing else, on standard output'
complete -c alignck -n "__fish_alignck_using_subcommand fix" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c alignck -n "__fish_alignck_using_subcommand convert" -l to -d 'The sector size that the table shall count in: 512 or 4096' -r
complete -c alignck -n "__fish_alignck_using_subcommand convert" -l backup -d 'Save what is replaced in this new file, or in this folder; without it in the user\'s state folder' -r -F
complete -c alignck -n "__fish_alignck_using_subcommand convert" -s t -l topology -d 'Pretend that the device reports this: logical, physical, min-io, opt-io, offset (in bytes), rotational=yes|no, rpm' -r
complete -c alignck -n "__fish_alignck_using_subcommand convert" -l physical-sector -d 'Judge by physical sectors of this size, whatever is reported' -r
complete -c alignck -n "__fish_alignck_using_subcommand convert" -l force -d 'Convert it even for sectors that this device does not have'
complete -c alignck -n "__fish_alignck_using_subcommand convert" -s y -l yes -d 'Do not ask'
complete -c alignck -n "__fish_alignck_using_subcommand convert" -s n -l dry-run -d 'Show what would be written, and write nothing'
complete -c alignck -n "__fish_alignck_using_subcommand convert" -l json -d 'Print one JSON document, and nothing else, on standard output'
complete -c alignck -n "__fish_alignck_using_subcommand convert" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c alignck -n "__fish_alignck_using_subcommand resume" -l journal -d 'The journal of the move: a new file or a folder for it, on another disk' -r -F
complete -c alignck -n "__fish_alignck_using_subcommand resume" -l progress -d 'How the progress is shown on standard error' -r -f -a "bar\t'A bar, where it is a terminal'
json\t'One JSON object a line'
none\t'Not at all'"
complete -c alignck -n "__fish_alignck_using_subcommand resume" -l backup -d 'Save what is replaced in this new file, or in this folder; without it in the user\'s state folder' -r -F
complete -c alignck -n "__fish_alignck_using_subcommand resume" -l verify -d 'Read back everything that has moved, and compare it'
complete -c alignck -n "__fish_alignck_using_subcommand resume" -l skip-bad -d 'Write zeros for sectors that cannot be read, and list them'
complete -c alignck -n "__fish_alignck_using_subcommand resume" -s y -l yes -d 'Do not ask'
complete -c alignck -n "__fish_alignck_using_subcommand resume" -s n -l dry-run -d 'Show what would be written, and write nothing'
complete -c alignck -n "__fish_alignck_using_subcommand resume" -l json -d 'Print one JSON document, and nothing else, on standard output'
complete -c alignck -n "__fish_alignck_using_subcommand resume" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c alignck -n "__fish_alignck_using_subcommand undo" -l journal -d 'The journal of the move: a new file or a folder for it, on another disk' -r -F
complete -c alignck -n "__fish_alignck_using_subcommand undo" -l progress -d 'How the progress is shown on standard error' -r -f -a "bar\t'A bar, where it is a terminal'
json\t'One JSON object a line'
none\t'Not at all'"
complete -c alignck -n "__fish_alignck_using_subcommand undo" -l backup -d 'Save what is replaced in this new file, or in this folder; without it in the user\'s state folder' -r -F
complete -c alignck -n "__fish_alignck_using_subcommand undo" -l force -d 'Put the old bytes back even where something else wrote since'
complete -c alignck -n "__fish_alignck_using_subcommand undo" -l verify -d 'Read back everything that has moved, and compare it'
complete -c alignck -n "__fish_alignck_using_subcommand undo" -l skip-bad -d 'Write zeros for sectors that cannot be read, and list them'
complete -c alignck -n "__fish_alignck_using_subcommand undo" -s y -l yes -d 'Do not ask'
complete -c alignck -n "__fish_alignck_using_subcommand undo" -s n -l dry-run -d 'Show what would be written, and write nothing'
complete -c alignck -n "__fish_alignck_using_subcommand undo" -l json -d 'Print one JSON document, and nothing else, on standard output'
complete -c alignck -n "__fish_alignck_using_subcommand undo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c alignck -n "__fish_alignck_using_subcommand probe" -l write -d 'Write blocks back as they were read: without it nothing can be measured'
complete -c alignck -n "__fish_alignck_using_subcommand probe" -s y -l yes -d 'Do not ask'
complete -c alignck -n "__fish_alignck_using_subcommand probe" -l json -d 'Print one JSON document, and nothing else, on standard output'
complete -c alignck -n "__fish_alignck_using_subcommand probe" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c alignck -n "__fish_alignck_using_subcommand explain" -s h -l help -d 'Print help'
complete -c alignck -n "__fish_alignck_using_subcommand help; and not __fish_seen_subcommand_from check plan apply fix convert resume undo probe explain help" -f -a "check" -d 'Say which partitions are misaligned, and why'
complete -c alignck -n "__fish_alignck_using_subcommand help; and not __fish_seen_subcommand_from check plan apply fix convert resume undo probe explain help" -f -a "plan" -d 'Lay out a disk so that every partition is aligned; nothing is written'
complete -c alignck -n "__fish_alignck_using_subcommand help; and not __fish_seen_subcommand_from check plan apply fix convert resume undo probe explain help" -f -a "apply" -d 'Write a layout that was planned, after a backup and a question'
complete -c alignck -n "__fish_alignck_using_subcommand help; and not __fish_seen_subcommand_from check plan apply fix convert resume undo probe explain help" -f -a "fix" -d 'Move misaligned partitions to where they should be, with every byte; safe against power cuts'
complete -c alignck -n "__fish_alignck_using_subcommand help; and not __fish_seen_subcommand_from check plan apply fix convert resume undo probe explain help" -f -a "convert" -d 'Rewrite a table for sectors of another size; every partition keeps its bytes'
complete -c alignck -n "__fish_alignck_using_subcommand help; and not __fish_seen_subcommand_from check plan apply fix convert resume undo probe explain help" -f -a "resume" -d 'Finish a write or a move that was cut off'
complete -c alignck -n "__fish_alignck_using_subcommand help; and not __fish_seen_subcommand_from check plan apply fix convert resume undo probe explain help" -f -a "undo" -d 'Put back what a write or a move changed, byte for byte'
complete -c alignck -n "__fish_alignck_using_subcommand help; and not __fish_seen_subcommand_from check plan apply fix convert resume undo probe explain help" -f -a "probe" -d 'Find the physical sectors of a disk by timing, whatever it reports'
complete -c alignck -n "__fish_alignck_using_subcommand help; and not __fish_seen_subcommand_from check plan apply fix convert resume undo probe explain help" -f -a "explain" -d 'Say what a finding means and what to do; without a code, list them all'
complete -c alignck -n "__fish_alignck_using_subcommand help; and not __fish_seen_subcommand_from check plan apply fix convert resume undo probe explain help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
