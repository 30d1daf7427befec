//! The servers of a cluster, and the server of a record: the master of its partition.

use crate::connection::{Connection, Digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kvdyno_engine::server::{Address, protocol_error};
use kvdyno_engine::{Error, Result};
use std::net::SocketAddr;
use std::sync::Arc;

const PARTITIONS: usize = 4096;

/// The addresses of all servers, and the partitions of each.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    pub(crate) addresses: Vec<Address>,
    /// For each partition, the index of its master in `addresses`; `None`: there is one server.
    masters: Option<Arc<[u8; PARTITIONS]>>,
}

impl Nodes {
    /// Returns the cluster of the server at `address`.
    pub(crate) fn connect(address: &Address) -> Result<Self> {
        let mut first = Connection::enter(address)?;
        let mut addresses = vec![address.clone()];
        addresses.extend(peers(&first.info("peers-clear-std")?).map(tcp_address));
        if addresses.len() == 1 {
            return Ok(Self { addresses, masters: None });
        }
        let mut masters = [u8::MAX; PARTITIONS];
        for (number, address) in addresses.iter().enumerate() {
            let reply = Connection::enter(address)?.info("replicas")?;
            let map = master_map(&reply).ok_or_else(|| protocol_error("replicas"))?;
            for (partition, master) in masters.iter_mut().enumerate() {
                if map[partition / 8] & (0x80 >> (partition % 8)) != 0 {
                    *master = number as u8;
                }
            }
        }
        if masters.contains(&u8::MAX) {
            return Err(Error::invalid("the cluster has partitions without a master"));
        }
        Ok(Self { addresses, masters: Some(Arc::new(masters)) })
    }

    /// Returns the index of a record's server.
    #[inline]
    pub(crate) fn master(&self, digest: &Digest) -> usize {
        let partition = usize::from(u16::from_le_bytes([digest[0], digest[1]])) % PARTITIONS;
        self.masters.as_ref().map_or(0, |masters| masters[partition].into())
    }
}

fn tcp_address(address: SocketAddr) -> Address {
    Address::Tcp { at: address, secret: String::new() }
}

/// Returns the addresses in `2,3000,[[5E24,,[127.0.0.1:24100]]]`.
pub(crate) fn peers(reply: &str) -> impl Iterator<Item = SocketAddr> {
    reply.split(['[', ']', ',']).filter_map(|word| word.parse().ok())
}

/// Returns the first map in `kv:0,2,MAP,MAP`, the entry of the first namespace: the partitions of
/// which the server is the master.
fn master_map(reply: &str) -> Option<Vec<u8>> {
    let (_, maps) = reply.split(';').next()?.split_once(':')?;
    let map = STANDARD.decode(maps.split(',').nth(2)?).ok()?;
    (map.len() == PARTITIONS / 8).then_some(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_servers_are_found_in_what_one_says() {
        let reply = "2,3000,[[5E24,,[127.0.0.1:24100]],[5E25,,[127.0.0.1:24200]]]";
        let ports: Vec<u16> = peers(reply).map(|address| address.port()).collect();
        assert_eq!(ports, [24100, 24200]);
        assert_eq!(peers("0,3000,[]").count(), 0);
    }

    #[test]
    fn a_record_is_asked_of_the_master_of_its_partition() {
        let map = STANDARD.encode([0xf0; PARTITIONS / 8]);
        assert_eq!(master_map(&format!("kv:0,2,{map},x;other:0,1,y")).unwrap()[0], 0xf0);
        assert_eq!(master_map("kv:0,2,AAAA"), None);
        let mut masters = [0; PARTITIONS];
        masters[0x234] = 1;
        let nodes = Nodes { addresses: Vec::new(), masters: Some(Arc::new(masters)) };
        let digest = |first: u8, second: u8| {
            let mut digest = [0; 20];
            [digest[0], digest[1]] = [first, second];
            digest
        };
        assert_eq!(nodes.master(&digest(0x34, 0xf2)), 1);
        assert_eq!(nodes.master(&digest(0x34, 0xf3)), 0);
    }
}
