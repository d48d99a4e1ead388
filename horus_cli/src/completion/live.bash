
_horus_live() {
    _horus "$@"
    local current="${COMP_WORDS[COMP_CWORD]}" kind=""
    [[ $current == -* ]] && return
    case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
        "topic find") kind=types ;;
        "topic "*) ((COMP_CWORD > 2)) && kind=topics ;;
        "node list") ;;
        "node "*) ((COMP_CWORD == 3)) && kind=nodes ;;
        "scheduler stop" | "scheduler forget" | "blackbox "*) kind=schedulers ;;
        "msg show" | "msg hash" | "msg diff") kind=types ;;
    esac
    [[ -z $kind ]] && return
    # A name may have any characters, and may come from another user. Each one is quoted as the
    # word that it completes: bash would execute a $(…) in it.
    local name quote=""
    [[ $current == [\"\']* ]] && quote=${current:0:1} && current=${current:1}
    [[ -z $quote ]] && current=${current//\\/}
    COMPREPLY=()
    while IFS= read -r name; do
        case $quote in
            "'") name=${name//"'"/"'\''"} ;;
            '"')
                # Nothing quotes this character there.
                [[ $name == *!* ]] && continue
                name=${name//'\'/'\\'}
                name=${name//'"'/'\"'}
                name=${name//'$'/'\$'}
                name=${name//'`'/'\`'}
                ;;
            *) printf -v name %q "$name" ;;
        esac
        COMPREPLY+=("$name")
    done < <(horus __complete "$kind" -- "$current" 2>/dev/null)
}
complete -F _horus_live -o nosort -o bashdefault -o default horus
