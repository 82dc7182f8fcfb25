mod campaign;
mod codes;
mod receipts;
mod scope_isolation;
mod submissions;
