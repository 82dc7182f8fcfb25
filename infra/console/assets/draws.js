// Countdown to a round, progress of a freeze, and a relay's reply from a file.

const TICK_MS = 1000;

/** Fetches the page again; null once the console has ended. */
async function fetched() {
  try {
    const reply = await fetch(location.href);
    return reply.ok ? new DOMParser().parseFromString(await reply.text(), 'text/html') : null;
  } catch {
    return null;
  }
}

function ended(place) {
  place.textContent = 'The console has ended. Run ops console again, and come back to this page.';
}

const countdown = document.getElementById('countdown');
if (countdown) {
  const left = Number(countdown.dataset.left);
  const since = performance.now();
  const unit = (number, name) => `${number} ${name}`;
  const words = (seconds) => {
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    if (hours >= 48) return unit(Math.floor(hours / 24), 'days');
    if (hours > 0) return `${unit(hours, 'h')} ${unit(minutes, 'min')}`;
    return minutes > 0 ? `${unit(minutes, 'min')} ${unit(seconds % 60, 's')}` : unit(seconds, 's');
  };
  const tick = async () => {
    const seconds = Math.ceil((left - (performance.now() - since)) / 1000);
    if (seconds > 0) {
      countdown.textContent = words(seconds);
      setTimeout(tick, TICK_MS);
      return;
    }
    const page = await fetched();
    if (!page) ended(countdown);
    else if (page.getElementById('countdown')) setTimeout(tick, TICK_MS);
    else location.reload();
  };
  tick();
}

// Only the words change, so that the focus stays where it is.
const progress = document.getElementById('progress');
if (progress) {
  const look = async () => {
    const page = await fetched();
    if (!page) return ended(progress);
    const now = page.getElementById('progress');
    if (!now) return location.reload();
    progress.textContent = now.textContent;
    setTimeout(look, TICK_MS);
  };
  setTimeout(look, TICK_MS);
}

const file = document.getElementById('file');
if (file) {
  file.addEventListener('change', async () => {
    const [chosen] = file.files;
    if (chosen) file.form.elements.reply.value = await chosen.text();
  });
}
