mod create;
mod crowds;
mod faults;
mod outcomes;
