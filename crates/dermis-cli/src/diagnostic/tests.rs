use super::*;

#[test]
fn has_message_location_details_and_hint() {
    let error = io::Error::from(io::ErrorKind::PointCountChanges { frame: 37, expected: 18402, found: 18390 });
    let error = error.in_file("walk.abc").at("/character/body").with_hint("export again with constant topology");
    let expected = "error: the point count changes at frame 37\n  --> walk.abc:/character/body\n  earlier frames \
                    have 18402 points, frame 37 has 18390\nhint: export again with constant topology\n";
    assert_eq!(Diagnostic::from(error).text(Paint::plain()), expected);
}

#[test]
fn uses_location_and_hint_of_the_cause() {
    let cause = io::Error::truncated("frame 3", 96, 12).in_file("a.pc2").with_hint("copy the file again");
    let failed = dermis::mesh::SequenceError::Source { frame: 3, cause: Box::new(cause) };
    let diagnostic = Diagnostic::from(io::Error::from(failed));
    assert_eq!(diagnostic.message, "frame 3 cannot be read");
    assert_eq!(diagnostic.path.as_deref(), Some("a.pc2"));
    assert_eq!(diagnostic.hint.as_deref(), Some("copy the file again"));
    assert_eq!(diagnostic.details, ["the file is truncated: frame 3 needs 96 bytes, but only 12 remain"]);
}
