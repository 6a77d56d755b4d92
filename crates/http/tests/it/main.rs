//! A real server and a real client, over sockets.

mod exchange;
