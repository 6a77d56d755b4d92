//! Whose letter an event is.

use karwan_envelope::ids::EventId;

use super::Operator;
use super::desk::values;
use super::letter::Target;
use crate::effect;
use crate::error::Error;

impl Operator {
    /// The letters of an event, or the one of an effect, whoever's they are and whatever they wait for.
    pub async fn targets(&self, event: EventId) -> Result<Vec<Target>, Error> {
        let sql = format!(
            "SELECT consumer FROM karwan.parked WHERE event_id = $1
             UNION SELECT consumer FROM karwan.dead WHERE event_id = $1
             UNION SELECT consumer FROM karwan.aside WHERE event_id = $1
             UNION SELECT '{}' || kind FROM karwan.effect WHERE id = $1 AND state = 'dead' ORDER BY 1",
            effect::LANES
        );
        let mut desk = self.look().await?;
        let rows = desk.rows(&sql, values![event]).await?;
        Ok(rows.iter().map(|row| Target { consumer: row.text(0), event }).collect())
    }
}
