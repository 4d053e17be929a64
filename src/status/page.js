// Keeps an open page up to date. The server gives the whole view as HTML, with every value escaped; what differs
// from the document is changed in place, so that selections and the scroll position stay.
const EVERY_MS = 2_000;
const TOO_LONG_MS = 10_000;
const live = document.querySelector('#live');
const parser = document.createElement('template');

function update(from, to) {
  if (from.nodeName !== to.nodeName) {
    from.replaceWith(to);
  } else if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.data !== to.data) from.data = to.data;
  } else {
    updateAttributes(from, to);
    const wanted = [...to.childNodes];
    for (const [index, node] of wanted.entries()) {
      if (index < from.childNodes.length) update(from.childNodes[index], node);
      else from.append(node);
    }
    while (from.childNodes.length > wanted.length) from.lastChild.remove();
  }
}

function updateAttributes(from, to) {
  for (const { name, value } of to.attributes) {
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  for (const name of from.getAttributeNames()) if (!to.hasAttribute(name)) from.removeAttribute(name);
}

/** Says it once: since when is part of it. */
function showOff(why) {
  if (live.className === 'off') return;
  live.className = 'off';
  live.textContent = `not live since ${new Date().toISOString().slice(11, 19)} UTC: ${why}`;
}

function showView({ dataset }) {
  document.title = dataset.title;
  if (dataset.unread !== undefined) return showOff('the status can’t be read, trying again');
  live.className = 'on';
  live.textContent = 'live';
}

/** The last report stays on the page, but is no longer what is true now. */
function showLost() {
  showOff('connection lost, trying again');
  const headline = document.querySelector('.headline');
  headline.classList.remove('good');
  headline.querySelector('h1').textContent = 'The daemon does not answer. This is its last report';
}

async function follow() {
  try {
    const answer = await fetch('?view', { signal: AbortSignal.timeout(TOO_LONG_MS) });
    parser.innerHTML = await answer.text();
    const view = parser.content.querySelector('main');
    showView(view);
    update(document.querySelector('main'), view);
  } catch {
    showLost();
  }
  setTimeout(follow, EVERY_MS);
}

showView(document.querySelector('main'));
setTimeout(follow, EVERY_MS);
