//! The tables of a graph, as `LinkBench` has them, and the statements that are prepared for them.

use super::SOME;
use crate::connection::{Connection, Statement};
use crate::upkeep::Storage;
use kvdyno_engine::Result;

/// Returns the statements that create the tables if they are missing. Data are bytes: in
/// `LinkBench` they are text of Latin-1, which has as many.
pub(crate) fn tables(storage: Storage) -> [String; 3] {
    let engine = storage.name();
    let parts = match storage {
        Storage::InnoDb => " PARTITION BY KEY(id1) PARTITIONS 16",
        Storage::RocksDb => "",
    };
    [
        format!(
            "CREATE TABLE IF NOT EXISTS linktable (id1 BIGINT UNSIGNED NOT NULL, \
             id2 BIGINT UNSIGNED NOT NULL, link_type BIGINT UNSIGNED NOT NULL, \
             visibility TINYINT NOT NULL, data VARBINARY(255) NOT NULL, \
             time BIGINT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL, \
             PRIMARY KEY (link_type, id1, id2), \
             KEY id1_type (id1, link_type, visibility, time, id2, version, data)) \
             ENGINE={engine}{parts}"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS counttable (id BIGINT UNSIGNED NOT NULL, \
             link_type BIGINT UNSIGNED NOT NULL, count INT UNSIGNED NOT NULL, \
             time BIGINT UNSIGNED NOT NULL, version BIGINT UNSIGNED NOT NULL, \
             PRIMARY KEY (id, link_type)) ENGINE={engine}"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS nodetable (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, \
             type INT UNSIGNED NOT NULL, version BIGINT UNSIGNED NOT NULL, \
             time INT UNSIGNED NOT NULL, data MEDIUMBLOB NOT NULL, PRIMARY KEY (id)) \
             ENGINE={engine}"
        ),
    ]
}

const ADD_NODE: &str = "INSERT INTO nodetable (type, version, time, data) VALUES (?,?,?,?)";
const GET_NODE: &str = "SELECT type, version, time, data FROM nodetable WHERE id = ?";
const UPDATE_NODE: &str =
    "UPDATE nodetable SET version = ?, time = ?, data = ? WHERE id = ? AND type = ?";
const DELETE_NODE: &str = "DELETE FROM nodetable WHERE id = ?";

const ADD_LINK: &str = "INSERT INTO linktable \
                        (id1, id2, link_type, visibility, data, time, version) \
                        VALUES (?,?,?,1,?,?,?) ON DUPLICATE KEY UPDATE visibility = 1";
const COUNT: &str = "INSERT INTO counttable (id, link_type, count, time, version) \
                     VALUES (?,?,1,?,0) ON DUPLICATE KEY UPDATE count = count + 1, \
                     version = version + 1, time = VALUES(time)";
const RENEW: &str = "UPDATE linktable SET data = ?, time = ?, version = ? \
                     WHERE link_type = ? AND id1 = ? AND id2 = ?";
const LOCK_LINK: &str = "SELECT visibility FROM linktable \
                         WHERE link_type = ? AND id1 = ? AND id2 = ? FOR UPDATE";
const HIDE: &str = "UPDATE linktable SET visibility = 0 \
                    WHERE link_type = ? AND id1 = ? AND id2 = ?";
const UNCOUNT: &str = "UPDATE counttable SET count = IF(count > 0, count - 1, 0), \
                       version = version + 1, time = ? WHERE id = ? AND link_type = ?";
const GET_COUNT: &str = "SELECT count FROM counttable WHERE id = ? AND link_type = ?";
const PUT_COUNT: &str = "INSERT INTO counttable (id, link_type, count, time, version) \
                         VALUES (?,?,?,?,0) ON DUPLICATE KEY UPDATE count = VALUES(count), \
                         version = version + 1, time = VALUES(time)";
const LIST_LINKS: &str = "SELECT id2, visibility, time, version, data FROM linktable \
                          FORCE INDEX (id1_type) WHERE id1 = ? AND link_type = ? AND \
                          time >= ? AND time <= ? AND visibility = 1 ORDER BY time DESC LIMIT ?";

/// Returns a write as one statement. Its row is the number of rows that its first part has changed.
/// It stops where a part fails, before the commit.
fn whole_statement(first: &str, rest: &str) -> String {
    format!(
        "BEGIN NOT ATOMIC DECLARE n BIGINT; START TRANSACTION; {first}; SET n = ROW_COUNT(); \
         {rest}; COMMIT; SELECT n; END"
    )
}

fn add_whole() -> String {
    let rest = format!("IF n <> 0 THEN {COUNT}; END IF; IF n <> 1 THEN {RENEW}; END IF");
    whole_statement(ADD_LINK, &rest)
}

fn delete_whole() -> String {
    whole_statement(
        &format!("{HIDE} AND visibility = 1"),
        &format!("IF n > 0 THEN {UNCOUNT}; END IF"),
    )
}

fn get_links(count: usize) -> String {
    let id2s = vec!["?"; count].join(",");
    // Without `FORCE INDEX` the optimiser may read the whole of a table that it takes for small.
    format!(
        "SELECT id2, visibility, time, version, data FROM linktable FORCE INDEX (PRIMARY) \
         WHERE link_type = ? AND id1 = ? AND id2 IN ({id2s})"
    )
}

/// The statements that a handle has prepared.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(super) begin: Statement,
    pub(super) commit: Statement,
    pub(super) rollback: Statement,
    pub(super) add_node: Statement,
    pub(super) get_node: Statement,
    pub(super) update_node: Statement,
    pub(super) delete_node: Statement,
    pub(super) add_link: Statement,
    pub(super) count: Statement,
    pub(super) renew: Statement,
    pub(super) lock_link: Statement,
    pub(super) hide: Statement,
    pub(super) uncount: Statement,
    pub(super) get_count: Statement,
    pub(super) put_count: Statement,
    pub(super) list_links: Statement,
    /// Whole writes, each in one round trip.
    pub(super) add_whole: Statement,
    pub(super) delete_whole: Statement,
    /// Statements that look links up, by the number of links.
    get_links: [Option<Statement>; SOME + 1],
}

impl Statements {
    pub(super) fn prepare(connection: &mut Connection) -> Result<Self> {
        let mut prepare_text = |text: &str| connection.prepare(text);
        Ok(Self {
            begin: prepare_text("START TRANSACTION")?,
            commit: prepare_text("COMMIT")?,
            rollback: prepare_text("ROLLBACK")?,
            add_node: prepare_text(ADD_NODE)?,
            get_node: prepare_text(GET_NODE)?,
            update_node: prepare_text(UPDATE_NODE)?,
            delete_node: prepare_text(DELETE_NODE)?,
            add_link: prepare_text(ADD_LINK)?,
            count: prepare_text(COUNT)?,
            renew: prepare_text(RENEW)?,
            lock_link: prepare_text(LOCK_LINK)?,
            hide: prepare_text(HIDE)?,
            uncount: prepare_text(UNCOUNT)?,
            get_count: prepare_text(GET_COUNT)?,
            put_count: prepare_text(PUT_COUNT)?,
            list_links: prepare_text(LIST_LINKS)?,
            add_whole: prepare_text(&add_whole())?,
            delete_whole: prepare_text(&delete_whole())?,
            get_links: [None; SOME + 1],
        })
    }

    /// Returns the statement that looks up `count` links.
    pub(super) fn get_links(
        &mut self,
        connection: &mut Connection,
        count: usize,
    ) -> Result<Statement> {
        if let Some(statement) = self.get_links[count] {
            return Ok(statement);
        }
        let statement = connection.prepare(&get_links(count))?;
        self.get_links[count] = Some(statement);
        Ok(statement)
    }
}
