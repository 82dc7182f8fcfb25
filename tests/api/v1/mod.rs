mod campaign;
mod codes;
mod scope_isolation;
mod submissions;
