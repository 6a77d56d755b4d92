mod check;
mod emit;
mod list;
mod show;
