//! Tests of the scripts for pgbench.

use super::*;

fn statement(sql: &str, parameters: &[&str]) -> Statement {
    let parameters = parameters.iter().map(|value| Some((*value).to_owned())).collect();
    Statement { sql: sql.to_owned(), parameters }
}

fn texts(captured: &[Vec<Statement>], since: u64, choice: Choice) -> Vec<Script> {
    let types = |sql: &str| {
        let kind = |sql: &str| if sql.contains("ANY") { "uuid[]" } else { "uuid" };
        Ok(vec![kind(sql).to_owned(); 12])
    };
    scripts(captured, since, choice, types).unwrap()
}

#[test]
fn differing_values_are_chosen_and_equal_ones_become_variables() {
    let request = |id: &str| vec![statement("SELECT $1, $2 WHERE a = $1", &[id, "12:30"])];
    let made = texts(&[request("a:"), request("b")], 0, Choice::Any);
    let text = "\\set n random(1, 2)\n\
        SELECT (ARRAY[E'a\\x3A',E'b']::uuid[])[:n::bigint], :s0_0::uuid \
        WHERE a = (ARRAY[E'a\\x3A',E'b']::uuid[])[:n::bigint];\n";
    let variables = vec![("s0_0".to_owned(), "12:30".to_owned())];
    assert_eq!(made, [Script { text: text.to_owned(), weight: 2, variables }]);
}

#[test]
fn an_empty_value_becomes_a_literal() {
    let made = texts(&[vec![statement("SELECT $1", &[""])]], 0, Choice::Any);
    let text = "\\set n random(1, 1)\nSELECT ''::uuid;\n".to_owned();
    assert_eq!(made, [Script { text, weight: 1, variables: Vec::new() }]);
}

#[test]
fn each_distinct_sequence_of_statements_becomes_a_script() {
    let one = || statement("SELECT 1", &[]);
    let made = texts(&[vec![one()], vec![one(), one()], vec![one()]], 0, Choice::Any);
    let weights: Vec<_> = made.iter().map(|script| (script.weight, script.text.matches("SELECT").count())).collect();
    assert_eq!(weights, [(2, 1), (1, 2)]);
}

#[test]
fn arrays_are_chosen_whole() {
    let request = |ids: &str| vec![statement("SELECT 1 WHERE a = ANY($1)", &[ids])];
    let made = texts(&[request("{a}"), request("{b,c}")], 0, Choice::Any);
    let chosen = "ANY(CASE :n::bigint WHEN 1 THEN E'{a}'::uuid[] WHEN 2 THEN E'{b,c}'::uuid[] END)";
    assert!(made[0].text.contains(chosen), "{}", made[0].text);
}

#[test]
fn only_ids_generated_during_the_capture_are_generated_again() {
    let old = "018f0000-0000-7000-8000-000000000000";
    let request = |fresh: &str| vec![statement("INSERT $1, $2", &[fresh, old]), statement("SELECT $1", &[fresh])];
    let fresh = ["01900000-0000-7000-8000-000000000000", "01900000-0001-7000-8000-000000000000"];
    let made = texts(&fresh.map(request), 0x0190_0000_0000, Choice::OfOwnUser(2));
    let id = "('f' || lpad(to_hex(:id0::bigint), 31, '0'))::uuid";
    let text = format!(
        "\\set n (:client_id % 2) * 1 + random(1, 1)\n\\set k :k + 1\n\\set id0 (:k * 1 + 0) * 256 + :client_id\n\
        INSERT {id}, :s0_0::uuid;\nSELECT {id};\n"
    );
    assert_eq!(made[0].text, text);
}

#[test]
fn a_request_without_statements_cannot_be_compared() {
    assert!(scripts(&[vec![]], 0, Choice::Any, |_| Ok(Vec::new())).is_err());
}
