//! Mutations as operations that any JSON Patch library applies, and that touch nothing else.

use super::*;

/// `new` after the patch that makes `mutations` in it.
fn mutated(mutations: &[FieldMutation], new: &Value, old: &Value) -> Value {
    let patch = Patch::of(mutations, &new.to_string(), &old.to_string()).unwrap().unwrap();
    let sent = base64::engine::general_purpose::STANDARD.decode(patch.to_base64()).unwrap();
    let sent: json_patch::Patch = serde_json::from_slice(&sent).unwrap();
    assert_eq!(&sent, patch.operations());
    let mut object = new.clone();
    json_patch::patch(&mut object, &sent).unwrap();
    object
}

fn set(key: &str) -> FieldMutation {
    FieldMutation::SetAnnotation { key: key.to_owned(), value: "v".to_owned() }
}

#[test]
fn without_mutations_there_is_no_patch() {
    assert_eq!(Patch::of(&[], "{}", "").unwrap(), None);
}

#[test]
fn annotations_are_put_beside_those_of_others_and_the_map_is_made_once() {
    let mutations = [set("a/b"), set("c~d")];
    let noted = json!({"a/b": "v", "c~d": "v"});
    for metadata in [json!({}), json!({"annotations": null}), json!({"annotations": {}})] {
        let object = mutated(&mutations, &json!({"metadata": metadata}), &Value::Null);
        assert_eq!(object, json!({"metadata": {"annotations": noted}}));
    }
    let new = json!({"metadata": {"annotations": {"x": "y", "a/b": "old"}}});
    let wanted = json!({"metadata": {"annotations": {"x": "y", "a/b": "v", "c~d": "v"}}});
    assert_eq!(mutated(&mutations, &new, &Value::Null), wanted);
}

#[test]
fn a_label_is_put_beside_those_of_others() {
    let mutation = [FieldMutation::SetLabel { key: "a/b", value: "v".to_owned() }];
    for metadata in [json!({}), json!({"labels": null}), json!({"labels": {}})] {
        let object = mutated(&mutation, &json!({"metadata": metadata}), &Value::Null);
        assert_eq!(object, json!({"metadata": {"labels": {"a/b": "v"}}}));
    }
    let new = json!({"metadata": {"labels": {"x": "y"}}});
    let wanted = json!({"metadata": {"labels": {"x": "y", "a/b": "v"}}});
    assert_eq!(mutated(&mutation, &new, &Value::Null), wanted);
}

#[test]
fn an_annotation_is_removed_by_its_exact_key() {
    let new = json!({"metadata": {"annotations": {"a/b~c": "1", "a": {"b~c": "2"}}}});
    let object = mutated(&[FieldMutation::RemoveAnnotation("a/b~c")], &new, &Value::Null);
    assert_eq!(object, json!({"metadata": {"annotations": {"a": {"b~c": "2"}}}}));
}

#[test]
fn a_class_is_put_whether_the_field_is_there_or_not() {
    let wanted = json!({"metadata": {}, "spec": {"storageClassName": "fast"}});
    for new in [
        json!({"metadata": {}}),
        json!({"metadata": {}, "spec": null}),
        json!({"metadata": {}, "spec": {}}),
        json!({"metadata": {}, "spec": {"storageClassName": null}}),
        json!({"metadata": {}, "spec": {"storageClassName": "slow"}}),
    ] {
        assert_eq!(
            mutated(&[FieldMutation::SetClass("fast".to_owned())], &new, &Value::Null),
            wanted
        );
    }
}

#[test]
fn a_reservation_comes_back_as_it_is_stored_unknown_keys_included() {
    let reference = json!({"namespace": "db", "name": "data", "uid": "u", "fieldPath": "x"});
    let old = json!({"spec": {"claimRef": reference}});
    for new in [
        json!({"spec": {}}),
        json!({"spec": {"claimRef": null}}),
        json!({"spec": {"claimRef": {"name": "data"}}}),
    ] {
        assert_eq!(mutated(&[FieldMutation::RestoreReservation], &new, &old), old);
    }
    let nothing = Patch::of(&[FieldMutation::RestoreReservation], "{}", "{}").unwrap().unwrap();
    assert!(nothing.operations().is_empty());
}

#[test]
fn a_finalizer_comes_back_after_those_that_are_there() {
    let mutations = [FieldMutation::RestoreFinalizer("a"), FieldMutation::RestoreFinalizer("b")];
    for (finalizers, wanted) in [
        (Value::Null, json!(["a", "b"])),
        (json!([]), json!(["a", "b"])),
        (json!(["x"]), json!(["x", "a", "b"])),
    ] {
        let new = json!({"metadata": {"finalizers": finalizers}});
        let object = mutated(&mutations, &new, &Value::Null);
        assert_eq!(object["metadata"]["finalizers"], wanted);
    }
}

#[test]
fn a_holder_is_forgotten_and_the_name_stays() {
    let reference = json!({"namespace": "db", "name": "data", "uid": "u", "resourceVersion": "1"});
    let new = json!({"spec": {"claimRef": reference}});
    let wanted = json!({"spec": {"claimRef": {"namespace": "db", "name": "data"}}});
    assert_eq!(mutated(&[FieldMutation::ForgetHolder], &new, &Value::Null), wanted);
    let new = json!({"spec": {"claimRef": {"namespace": "db", "name": "data", "uid": "u"}}});
    assert_eq!(mutated(&[FieldMutation::ForgetHolder], &new, &Value::Null), wanted);
}

#[test]
fn a_label_is_selected_beside_what_is_selected_already() {
    let mutation = FieldMutation::Select { key: "a/b", value: "v".to_owned() };
    let own = json!({"a/b": "v"});
    for spec in [json!({}), json!({"selector": null}), json!({"selector": {}})] {
        let object = mutated(std::slice::from_ref(&mutation), &json!({"spec": spec}), &Value::Null);
        assert_eq!(object, json!({"spec": {"selector": {"matchLabels": own}}}));
    }
    let new = json!({"spec": {"selector": {"matchLabels": {"a/b": "x", "c": "d"}, "matchExpressions": []}}});
    let both = json!({"matchLabels": {"a/b": "v", "c": "d"}, "matchExpressions": []});
    let object = mutated(&[mutation], &new, &Value::Null);
    assert_eq!(object, json!({"spec": {"selector": both}}));
}

/// Validating passes over it, so that mutating must as well.
#[test]
fn duplicates_of_unread_fields_are_no_error() {
    let claim = r#"{"spec":{"claimRef":1,"selector":null,"claimRef":[],"x":1,"x":2}}"#;
    let patch =
        Patch::of(&[FieldMutation::SetClass("fast".to_owned())], claim, "").unwrap().unwrap();
    let operations = serde_json::to_value(patch.operations()).unwrap();
    assert_eq!(operations[0]["path"], "/spec/storageClassName");
}
