// Pages work without this: it adds search, copy buttons and a remembered language of samples.

for (const caption of document.querySelectorAll("figure.sample > figcaption")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(caption.nextElementSibling.textContent + "\n");
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  caption.append(button);
}

// Smooth inside a page only: a page that is opened at a place stands still at once.
addEventListener("click", ({ target }) => {
  if (!target.closest?.('a[href^="#"]')) return;
  document.documentElement.classList.add("smooth");
  addEventListener("scrollend", () => document.documentElement.classList.remove("smooth"), { once: true });
});

const choose = (language) => {
  for (const radio of document.querySelectorAll(`.choice > input[value="${language}"]`)) radio.checked = true;
};
addEventListener("change", ({ target }) => {
  if (!target.matches(".choice > input")) return;
  const before = target.parentElement.getBoundingClientRect().top;
  choose(target.value);
  scrollBy({ top: target.parentElement.getBoundingClientRect().top - before, behavior: "instant" });
  try { localStorage.setItem("language", target.value); } catch { /* Storage is off: the choice lasts for this page. */ }
});
try { choose(localStorage.getItem("language") ?? "sh"); } catch { /* As above. */ }

const box = document.querySelector("#search");
const list = document.querySelector("#results");
box.parentElement.hidden = false;
let places;
let selected = -1;

const load = async () => {
  places ??= fetch("/docs/search.json").then((reply) => reply.json()).catch(() => { places = undefined; return []; });
  return places;
};

const find = (all, words) => {
  const found = [];
  for (const [title, page, url, text] of all) {
    const name = title.toLowerCase();
    const whole = `${name} ${page.toLowerCase()} ${text.toLowerCase()}`;
    if (!words.every((word) => whole.includes(word))) continue;
    const inName = words.filter((word) => name.includes(word)).length;
    found.push({ title, page, url, text, score: inName * 2 + name.startsWith(words[0]) + (name === words.join(" ")) * 9 });
  }
  return found.sort((a, b) => b.score - a.score).slice(0, 8);
};

/** At most 90 characters: whole words, the first that was found among them. */
const snippet = (text, words) => {
  const lower = text.toLowerCase();
  const found = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const at = found.length ? Math.min(...found) : 0;
  const start = at < 60 ? 0 : text.lastIndexOf(" ", at - 30) + 1;
  if (text.length - start <= 90) return (start ? "… " : "") + text.slice(start);
  return `${start ? "… " : ""}${text.slice(start, text.lastIndexOf(" ", start + 90))} …`;
};

const select = (index) => {
  selected = index;
  [...list.children].forEach((item, at) => item.setAttribute("aria-selected", at === index));
  list.children[index]?.scrollIntoView({ block: "nearest" });
  if (list.children[index]?.dataset.url) box.setAttribute("aria-activedescendant", `result-${index}`);
  else box.removeAttribute("aria-activedescendant");
};

const close = () => {
  list.hidden = true;
  box.setAttribute("aria-expanded", "false");
  select(-1);
};

const open = (item) => { if (item?.dataset.url) { location.href = item.dataset.url; close(); box.blur(); } };

const show = async () => {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const typed = box.value;
  const all = await load();
  if (box.value !== typed) return;
  if (words.length === 0) { close(); return; }
  const found = find(all, words);
  list.replaceChildren(...found.map(({ title, page, url, text }, index) => {
    const item = document.createElement("li");
    item.id = `result-${index}`;
    item.role = "option";
    item.dataset.url = url;
    const name = document.createElement("b");
    name.textContent = title;
    const rest = document.createElement("span");
    rest.textContent = `${page} · ${snippet(text, words)}`;
    item.append(name, rest);
    return item;
  }));
  if (found.length === 0) {
    const item = document.createElement("li");
    item.role = "option";
    item.textContent = "Nothing found";
    list.append(item);
  }
  list.hidden = false;
  box.setAttribute("aria-expanded", "true");
  select(found.length ? 0 : -1);
};

box.addEventListener("input", show);
box.addEventListener("focus", load);
box.addEventListener("blur", () => setTimeout(close, 200));
list.addEventListener("mousedown", (event) => { event.preventDefault(); open(event.target.closest("li")); });
box.addEventListener("keydown", (event) => {
  const last = list.children.length - 1;
  if (event.key === "ArrowDown") select(Math.min(selected + 1, last));
  else if (event.key === "ArrowUp") select(Math.max(selected - 1, 0));
  else if (event.key === "Enter") open(list.children[selected]);
  else if (event.key === "Escape") { box.value = ""; close(); }
  else return;
  event.preventDefault();
});
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=radio], [type=checkbox])")) return;
  event.preventDefault();
  box.focus();
});
