mod check;
mod check_bad_input;
mod check_limit;
