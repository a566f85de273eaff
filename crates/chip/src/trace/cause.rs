//! Causes: the scopes that were open when events happened, as a tree.

/// The number of a node in a [`CauseTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CauseId(pub u32);

impl CauseId {
    /// The root. It is the cause of events outside of all scopes.
    pub const ROOT: Self = Self(0);
}

/// All scopes seen so far, as a tree. Invariant: the parent of a node has a lower number than the
/// node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CauseTree {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    parent: CauseId,
    label: String,
    children: Vec<CauseId>,
}

impl Default for CauseTree {
    fn default() -> Self {
        let root = Node { parent: CauseId::ROOT, label: "other".to_owned(), children: Vec::new() };
        Self { nodes: vec![root] }
    }
}

impl CauseTree {
    /// Find the child of `parent` with this label. If there is none, add it.
    ///
    /// # Panics
    /// If there are 2^32 causes.
    pub fn child(&mut self, parent: CauseId, label: &str) -> CauseId {
        let known = self.node(parent).children.iter().copied();
        if let Some(child) = known.into_iter().find(|&id| self.node(id).label == label) {
            return child;
        }
        let id = CauseId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 causes"));
        self.nodes.push(Node { parent, label: label.to_owned(), children: Vec::new() });
        self.nodes[parent.0 as usize].children.push(id);
        id
    }

    /// Number of nodes, including the root.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no scope was ever opened.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }

    /// The label of a node. That of the root is "other"; an event with this cause is a bug of the
    /// stack.
    pub fn label(&self, id: CauseId) -> &str {
        &self.node(id).label
    }

    /// The parent of a node. The root is its own parent.
    pub fn parent(&self, id: CauseId) -> CauseId {
        self.node(id).parent
    }

    /// The outermost scope of the cause `id`. The root if no scope was open.
    pub fn outermost(&self, id: CauseId) -> CauseId {
        let mut at = id;
        while self.parent(at) != CauseId::ROOT {
            at = self.parent(at);
        }
        at
    }

    /// The children of a node, in the order in which they first appeared.
    pub fn children(&self, id: CauseId) -> &[CauseId] {
        &self.node(id).children
    }

    /// The labels from the outermost scope down to `id`, joined by " > ". For the root it is
    /// "other".
    pub fn path(&self, id: CauseId) -> String {
        if id == CauseId::ROOT {
            return self.label(id).to_owned();
        }
        let mut labels = Vec::new();
        let mut at = id;
        while at != CauseId::ROOT {
            labels.push(self.label(at));
            at = self.parent(at);
        }
        labels.reverse();
        labels.join(" > ")
    }

    fn node(&self, id: CauseId) -> &Node {
        &self.nodes[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_again() {
        let mut tree = CauseTree::default();
        let statement = tree.child(CauseId::ROOT, "insert");
        let write = tree.child(statement, "write");
        assert_eq!(tree.child(statement, "write"), write);
        assert_eq!(tree.path(write), "insert > write");
        assert_eq!(tree.path(CauseId::ROOT), "other");
        assert_eq!(tree.children(statement), [write]);
        let outermost = [CauseId::ROOT, statement, write].map(|id| tree.outermost(id));
        assert_eq!(outermost, [CauseId::ROOT, statement, statement]);
    }
}
