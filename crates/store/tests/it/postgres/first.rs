use karwan_store::log::Filter;
use karwan_store::{Error, Facts};
use karwan_testkit::postgres::postgres;

use super::Fixture;
use crate::market::{Order, OrderChanged, ParcelScanned, context};

#[tokio::test]
async fn a_unit_commits_data_and_facts() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let ctx = context(1, "sales-service");
    let done = fixture
        .store
        .unit(&ctx, |tx| async move {
            assert_eq!(tx.find::<Order>("o-1").await?, None);
            tx.put(Order { id: "o-1".into(), changes: 1, status: "open".into() });
            tx.emit(Facts::none().and(OrderChanged { order_id: "o-1".into(), serial: 1 }));
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    assert_eq!(done.position.seq, 1);
    let relay = fixture.store.relay();
    let page = relay.page(relay.start().await.unwrap(), &Filter::default(), 10).await.unwrap();
    assert_eq!(page.rows.len(), 1);
    let row = fixture.database.psql_as(
        &fixture.login,
        "BEGIN; SELECT set_config('app.tenant_id','0190c2f0-0000-7000-8000-000000000001',true); SELECT * FROM karwan.append('0190c2f0-0000-7000-8000-000000000001', 'market.parcel.parcel.scanned.v1', 'p-1', 'p-1:1', '{\"parcelId\":\"p-1\",\"serial\":1}'); COMMIT",
    );
    println!("{row:?}");
    let page = relay.page(page.position, &Filter::default(), 10).await.unwrap();
    let envelope = karwan_store::stored::envelope(fixture.store.catalogue(), &page.rows[0]).unwrap();
    println!("{}", page.rows[0].envelope);
    assert_eq!(envelope.key, "p-1");
    let _ = ParcelScanned { parcel_id: String::new(), serial: 0, tenant_id: None };
}
