_horus_topics() {
    local -a names=(${(f)"$(horus __complete topics "$PREFIX" 2>/dev/null)"})
    compadd -a names
}

_horus_nodes() {
    local -a names=(${(f)"$(horus __complete nodes "$PREFIX" 2>/dev/null)"})
    compadd -a names
}

