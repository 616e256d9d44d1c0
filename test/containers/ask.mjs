// Sends one GraphQL operation and prints what the answer holds at a path: `node ask.mjs URL OPERATION PATH`.
// Strings and numbers are printed as they are, anything else as JSON; the whole answer when the path leads nowhere.
const [url, query, path] = process.argv.slice(2);

const response = await fetch(url, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ query }),
});
const answer = await response.json();
const found = path.split('.').reduce((value, key) => value?.[key], answer) ?? answer;
console.log(typeof found === 'object' ? JSON.stringify(found) : String(found));
