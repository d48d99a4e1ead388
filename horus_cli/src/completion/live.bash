
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
    mapfile -t COMPREPLY < <(horus __complete "$kind" "$current" 2>/dev/null)
}
complete -F _horus_live -o nosort -o bashdefault -o default horus
