complete -c horus -n "__fish_seen_subcommand_from topic; and __fish_seen_subcommand_from info echo hz bw latency delay pub wait rm type" -f -a "(horus __complete topics (commandline -ct) 2>/dev/null)"
complete -c horus -n "__fish_seen_subcommand_from node; and __fish_seen_subcommand_from info pause resume stop rate" -f -a "(horus __complete nodes (commandline -ct) 2>/dev/null)"
