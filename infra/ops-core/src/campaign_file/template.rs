use super::schema::{Kind, Schema};

/// The template of `ops campaign init`: required fields are empty, others behind a `#`.
pub fn template() -> String {
    let mut template = String::from(
        "# A campaign. Fill in what is empty, and remove the `# ` before what else you need.\n\
         # Then look at it with `ops campaign apply THIS-FILE --dry-run`.\n",
    );
    for (name, schema) in Schema::of_file().fields() {
        template += &format!("\n# {}\n", schema.text);
        if let Some(default) = schema.left_out.as_deref() {
            template += &format!("# Left out: {default}.\n");
            push_field(&mut template, "# ", name, schema);
        } else if let Kind::Object = schema.kind() {
            template += &format!("{name}:\n");
            push_block(&mut template, "  ", schema, push_empty);
        } else {
            push_empty(&mut template, "", name, schema);
        }
    }
    template
}

fn push_empty(template: &mut String, margin: &str, name: &str, schema: &Schema) {
    let example = &schema.example;
    *template += &format!("{margin}{name}:   # such as {example}\n");
}

fn push_field(template: &mut String, margin: &str, name: &str, schema: &Schema) {
    if let Kind::Object = schema.kind() {
        *template += &format!("{margin}{name}:\n");
        push_block(template, &format!("{margin}  "), schema, push_field);
    } else {
        *template += &format!("{margin}{name}: {}\n", schema.example);
    }
}

fn push_block(
    template: &mut String,
    margin: &str,
    block: &Schema,
    push: fn(&mut String, &str, &str, &Schema),
) {
    for (name, schema) in block.fields() {
        let text = &schema.text;
        if !text.is_empty() {
            let left_out = schema
                .left_out
                .as_ref()
                .map(|words| format!(" Left out: {words}."));
            *template += &format!("{margin}# {text}{}\n", left_out.unwrap_or_default());
        }
        push(template, margin, name, schema);
    }
}
