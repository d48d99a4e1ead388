//! Strongly connected components of a directed graph: sets of vertices that reach each other.

/// The index that marks a vertex that the algorithm has not visited yet.
const UNVISITED: usize = usize::MAX;

/// Returns the components of a graph. `successors` contains the successors of each vertex. A
/// component comes after all other components that can be reached from it.
///
/// This is Tarjan's algorithm (1972), with an explicit stack instead of recursion, so that no graph
/// exhausts the thread's stack. The time is proportional to the number of vertices and edges.
pub(super) fn strongly_connected_components(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    let mut index = vec![UNVISITED; successors.len()];
    let mut low = vec![UNVISITED; successors.len()];
    let mut is_open = vec![false; successors.len()];
    // `open` has the visited vertices that are in no component yet. `path` has the vertices from
    // the root to the present one, each with the number of its edges that were followed.
    let mut open = Vec::new();
    let mut path = Vec::<(usize, usize)>::new();
    let mut visited = 0;
    for root in 0..successors.len() {
        if index[root] == UNVISITED {
            path.push((root, 0));
        }
        while let Some((vertex, edge)) = path.last_mut() {
            let vertex = *vertex;
            if *edge == 0 {
                (index[vertex], low[vertex]) = (visited, visited);
                visited += 1;
                open.push(vertex);
                is_open[vertex] = true;
            }
            if let Some(to) = successors[vertex].get(*edge).copied() {
                *edge += 1;
                if index[to] == UNVISITED {
                    path.push((to, 0));
                } else if is_open[to] {
                    low[vertex] = low[vertex].min(index[to]);
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                low[*parent] = low[*parent].min(low[vertex]);
            }
            if low[vertex] == index[vertex] {
                let begin = open
                    .iter()
                    .rposition(|one| *one == vertex)
                    .unwrap_or_default();
                let component = open.split_off(begin);
                component.iter().for_each(|one| is_open[*one] = false);
                found.push(component);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_needs_no_stack_and_is_found_from_its_end() {
        let count = 1_000_000;
        let mut successors: Vec<_> = (1..count).map(|to| vec![to]).collect();
        successors.push(Vec::new());
        let found = strongly_connected_components(&successors);
        assert!(
            found
                .into_iter()
                .eq((0..count).rev().map(|vertex| vec![vertex]))
        );
        successors[count - 1].push(0);
        assert_eq!(strongly_connected_components(&successors).len(), 1);
    }
}
