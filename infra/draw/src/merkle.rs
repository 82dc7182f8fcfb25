//! The Merkle tree of RFC 9162, section 2.1.

use crate::digest::Digest;

const LEAF: &[u8] = &[0];
const NODE: &[u8] = &[1];

/// Uses memory for the logarithm of the lines.
#[derive(Debug, Default)]
pub(crate) struct MerkleTree {
    /// Full subtrees from left to right.
    subtrees: Vec<Subtree>,
}

#[derive(Debug)]
struct Subtree {
    root: Digest,
    height: u32,
}

impl MerkleTree {
    pub(crate) fn push(&mut self, line: &str) {
        let mut last = Subtree {
            root: Digest::from_parts(&[LEAF, line.as_bytes()]),
            height: 0,
        };
        while let Some(left) = self.subtrees.pop_if(|left| left.height == last.height) {
            last = Subtree {
                root: node(left.root, last.root),
                height: last.height.saturating_add(1),
            };
        }
        self.subtrees.push(last);
    }

    /// The root of all lines; without lines, the digest of nothing.
    pub(crate) fn root(&self) -> Digest {
        let roots = self.subtrees.iter().rev().map(|subtree| subtree.root);
        roots
            .reduce(|right, left| node(left, right))
            .unwrap_or_else(|| Digest::from_parts(&[]))
    }
}

fn node(left: Digest, right: Digest) -> Digest {
    Digest::from_parts(&[NODE, left.as_bytes(), right.as_bytes()])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The RFC's definition.
    fn defined(lines: &[String]) -> Digest {
        match lines {
            [] => Digest::from_parts(&[]),
            [line] => Digest::from_parts(&[LEAF, line.as_bytes()]),
            _ => {
                let mut split = 1;
                while split * 2 < lines.len() {
                    split *= 2;
                }
                node(defined(&lines[..split]), defined(&lines[split..]))
            }
        }
    }

    fn root(lines: &[String]) -> Digest {
        let mut tree = MerkleTree::default();
        lines.iter().for_each(|line| tree.push(line));
        tree.root()
    }

    proptest! {
        #[test]
        fn root_is_that_of_the_rfc(lines in prop::collection::vec("[a-c]{0,2}", 0..70)) {
            prop_assert_eq!(root(&lines), defined(&lines));
        }

        #[test]
        fn lines_that_change_places_change_the_root(mut lines in prop::collection::vec("[a-z]{8}", 2..40), at: prop::sample::Index) {
            let before = root(&lines);
            let at = at.index(lines.len() - 1);
            prop_assume!(lines[at] != lines[at + 1]);
            lines.swap(at, at + 1);
            prop_assert_ne!(root(&lines), before);
        }
    }
}
