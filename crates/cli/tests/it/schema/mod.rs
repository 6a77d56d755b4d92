mod bundle;
mod diff;
mod gate;
mod hash;
