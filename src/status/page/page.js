// Keeps an open page up to date. The server sends the whole view as HTML, with every value escaped; what differs
// from the document is changed in place, so that selections and the scroll position stay.
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

function show(state, text) {
  live.className = state;
  live.textContent = text;
}

/** Says it once: since when is part of it. */
function showOff(why) {
  if (live.className !== 'off')
    show('off', `not live since ${new Date().toISOString().slice(11, 19)} UTC: ${why}`);
}

function showView({ dataset }) {
  document.title = dataset.title;
  if (dataset.unread === undefined) show('on', 'live');
  else showOff('the status can’t be read, trying again');
}

const events = new EventSource(document.querySelector('main').dataset.live);
events.addEventListener('open', () => showView(document.querySelector('main')));
events.addEventListener('error', () => showOff('connection lost, trying again'));
events.addEventListener('view', (event) => {
  parser.innerHTML = event.data;
  const view = parser.content.querySelector('main');
  showView(view);
  update(document.querySelector('main'), view);
});
document.title = document.querySelector('main').dataset.title;
