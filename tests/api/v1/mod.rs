mod campaign;
