//! `/api/admin/configuration`: the settings in effect. Those of a running binary are tested in `end_to_end`.

use serde_json::json;

use crate::client::list;
use crate::support::Server;

#[tokio::test(flavor = "multi_thread")]
async fn each_setting_is_listed_with_its_value_and_source() {
    let server = Server::start().await;
    let root = server.root().await;
    let settings = server.get(&root, "/api/admin/configuration").await.expect(200).data();
    assert_eq!(list(&settings).len(), agora_config::ALL.iter().filter(|setting| setting.in_file).count());
    let cost = list(&settings).iter().find(|setting| setting["key"] == "bcrypt_cost").unwrap();
    let expected = json!({
        "group": "Accounts and access",
        "key": "bcrypt_cost",
        "variable": "AGORA_BCRYPT_COST",
        "value": "12",
        "isSecret": false,
        "isSet": false,
        "source": "default",
    });
    assert_eq!(*cost, expected);
}
