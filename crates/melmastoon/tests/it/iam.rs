//! Accounts and roles as state.

use karwan::Work;
use melmastoon::iam::decide::NewUser;
use melmastoon::iam::{self as iam, AccountKind, DeactivationReason, SignInMethod, UserCreated, UserDeactivated};
use melmastoon::iam::{commands, work};
use melmastoon::ids::UserId;
use melmastoon::tenant::RoleGranted;
use melmastoon::values::StaffRole;

use crate::desk::{Desk, run};
use crate::told;

fn context(tenant: u64) -> karwan::Context {
    karwan::context(iam::SERVICE, tenant)
}

fn wanted(email: &str) -> NewUser {
    NewUser {
        kind: AccountKind::Staff,
        full_name: "Ahmad Shah".to_owned(),
        email: email.to_owned(),
        phone: None,
        preferred_locale: "fa-AF".parse().expect("a locale"),
        sign_in: SignInMethod::Password,
    }
}

async fn desk() -> Desk {
    Desk::open(iam::kinds(), work::work(Work::new())).await
}

#[test]
fn an_address_signs_in_to_one_account_of_a_tenant() {
    run(async || {
        let desk = desk().await;
        let store = desk.place.store();
        let first = commands::create(store, &context(1), &wanted("Ahmad@example.af")).await.expect("an account");
        let taken = commands::create(store, &context(1), &wanted("ahmad@example.af")).await;
        assert_eq!(taken.map_err(|refusal| refusal.code()), Err("MELMASTOON.GENERAL.VALIDATION_FAILED"));
        commands::create(store, &context(2), &wanted("ahmad@example.af")).await.expect("another tenant's");
        for bad in ["", "ahmad", "@example.af", "ahmad@example", "a@b@c.af"] {
            assert!(commands::create(store, &context(1), &wanted(bad)).await.is_err(), "{bad}");
        }
        let left = DeactivationReason::Left;
        for _ in 0..2 {
            commands::deactivate(store, &context(1), first, left, None).await.expect("it ends, and stays so");
        }
        commands::create(store, &context(1), &wanted("ahmad@example.af")).await.expect("the address is free again");
        assert_eq!(desk.told::<UserCreated>().await.len(), 3);
        assert_eq!(desk.told::<UserDeactivated>().await.len(), 1);
        desk.close().await;
    });
}

#[test]
fn a_role_holds_where_it_was_granted_and_while_the_account_lives() {
    run(async || {
        let desk = desk().await;
        let store = desk.place.store();
        let user: UserId = commands::create(store, &context(1), &wanted("a@example.af")).await.expect("an account");
        let grant = |version, role| RoleGranted { user_id: user, ..told::role_granted(version, role) };
        desk.tell(&grant(1, StaffRole::FrontDesk)).await;
        desk.settle().await;
        let may = async |role, property| {
            commands::allowed(store, &context(1), user, (role, property)).await.expect("it can be asked")
        };
        assert!(may(StaffRole::FrontDesk, told::property()).await);
        assert!(!may(StaffRole::FrontDesk, told::id(77)).await, "another property");
        assert!(!may(StaffRole::Finance, told::property()).await, "another role");
        desk.tell(&grant(2, StaffRole::Finance)).await;
        desk.settle().await;
        assert!(may(StaffRole::Finance, told::property()).await && !may(StaffRole::FrontDesk, told::property()).await);
        commands::deactivate(store, &context(1), user, DeactivationReason::Security, None).await.expect("it ends");
        assert!(!may(StaffRole::Finance, told::property()).await);
        desk.close().await;
    });
}
