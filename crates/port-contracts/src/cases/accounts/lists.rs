//! The list of accounts.

use agora_domain::clock::Timestamp;
use agora_domain::id::UserId;
use agora_domain::page::PageRequest;

use crate::Repositories;
use crate::run::{pages, walk};
use crate::world::{INSTANTS, World, at, shuffled};

pub async fn an_empty_list_is_one_empty_page(db: Repositories) {
    let page = db.accounts.list(PageRequest::FIRST).await.unwrap();
    assert_eq!((page.items, page.prev, page.next), (vec![], None, None));
}

pub async fn accounts_are_listed_oldest_first_with_every_field(db: Repositories) {
    let w = World::new(&db);
    let mut accounts = Vec::new();
    for millis in shuffled(INSTANTS) {
        let at = Timestamp::from_unix_millis(millis);
        accounts.push(w.account_with(&format!("born {millis}"), |account| account.created_at = at).await);
    }
    accounts.sort_by_key(|account| account.created_at);
    assert_eq!(db.accounts.list(PageRequest::FIRST).await.unwrap().items, accounts);
    for size in [1, 2, 3, INSTANTS.len(), 100] {
        assert_eq!(pages(size, async |page| db.accounts.list(page).await).await, accounts, "size {size}");
    }
}

pub async fn accounts_created_at_the_same_instant_are_listed_by_id(db: Repositories) {
    let w = World::new(&db);
    let ids: Vec<UserId> = w.ids(7);
    for id in shuffled(ids.clone()) {
        w.account_with(&format!("twin {id}"), |account| (account.id, account.created_at) = (id, at(0))).await;
    }
    for size in [1, 2, 7, 100] {
        let listed = pages(size, async |page| db.accounts.list(page).await).await;
        assert_eq!(listed.iter().map(|account| account.id).collect::<Vec<_>>(), ids, "size {size}");
    }
}

pub async fn paging_skips_and_repeats_no_account_during_registrations(db: Repositories) {
    let w = World::new(&db);
    let ids: Vec<UserId> = w.ids(9);
    for (n, id) in (0..).zip(ids.clone()) {
        // Three at each instant, so that pages of two end between equal instants.
        let at = at(n / 3);
        w.account_with(&format!("old {id}"), |account| (account.id, account.created_at) = (id, at)).await;
    }
    let mut round = 0;
    let register = async |_: &[_]| {
        // One before everything that was read, and for the first five pages one after everything.
        round += 1;
        w.account_with(&format!("early {round}"), |account| account.created_at = at(-1)).await;
        if round <= 5 {
            w.account_with(&format!("late {round}"), |account| account.created_at = at(1_000_000)).await;
        }
    };
    let listed = walk(2, async |page| db.accounts.list(page).await, register).await;
    let old: Vec<_> = listed.iter().map(|account| account.id).filter(|id| ids.contains(id)).collect();
    assert_eq!(old, ids);
    assert_eq!(listed.len(), ids.len() + 5, "entries that were added after the page are listed as well");
    assert!(listed.is_sorted_by(|a, b| (a.created_at, a.id) < (b.created_at, b.id)), "in order, without duplicates");
}
