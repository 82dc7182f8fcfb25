mod campaign;
mod submissions;
