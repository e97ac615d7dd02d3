//! What a mutation comes to as a MutatingAdmissionPolicy: CEL that makes the changes of an object, without the webhook.
//!
//! CEL sees the request, the object before and after it, and nothing else. Each mutation declares how close its policy comes.
//! The end-to-end tests compare what both make of every example. Not here: the manifests (`api::admission_policy`).

use super::resource::Resource;

/// How close a MutatingAdmissionPolicy comes to a mutation.
#[derive(Clone, Copy, Debug)]
pub enum MutationForm {
    /// It stores what the mutation stores.
    Exact(&'static [MutationText]),
    /// It leaves some objects as they are that the mutation changes, for this reason.
    Partial(&'static [MutationText], &'static str),
    /// There is none, for this reason.
    NotExpressible(&'static str),
}

impl MutationForm {
    /// Its word in the output and on pages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact(_) => "exact",
            Self::Partial(..) => "partial",
            Self::NotExpressible(_) => "not expressible",
        }
    }

    /// The policies, one for each resource.
    pub fn texts(self) -> &'static [MutationText] {
        match self {
            Self::Exact(texts) | Self::Partial(texts, _) => texts,
            Self::NotExpressible(_) => &[],
        }
    }

    /// Why it differs from the mutation; nothing if it does not.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::Exact(_) => None,
            Self::Partial(_, reason) | Self::NotExpressible(reason) => Some(reason),
        }
    }
}

/// What a mutation makes of the objects of one resource.
#[derive(Clone, Copy, Debug)]
pub struct MutationText {
    /// The resource.
    pub resource: Resource,
    /// Named values, by name and CEL; later ones may use earlier ones, as `variables.NAME`, and those of
    /// [`variables`](super::policy_form::variables).
    pub variables: &'static [(&'static str, &'static str)],
    /// CEL: a list of `JSONPatch`, empty where nothing is changed.
    pub patch: &'static str,
}

#[cfg(test)]
mod tests {
    use crate::rules::mutations::MUTATIONS;

    #[test]
    fn each_policy_looks_at_what_its_mutation_looks_at() {
        for mutation in MUTATIONS {
            for text in mutation.policy.texts() {
                let mut types = mutation.request_types.iter();
                assert!(types.any(|one| one.resource == text.resource), "{}", mutation.id);
            }
        }
    }
}
