// Writes the GraphiQL page as plain files, so that it is served from our own origin under a strict content policy.
// The bundle comes from @graphql-yoga/render-graphiql, which carries GraphiQL, its editor workers and its styles.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { css, editorWorkerService, graphqlWorker, js, jsonWorker } from '@graphql-yoga/render-graphiql/graphiql';

/** Fills `directory` with index.html, boot.js and the bundle. */
export function writeGraphiqlAssets(directory) {
  mkdirSync(directory, { recursive: true });
  const files = {
    'graphiql.js': js,
    'graphiql.css': css,
    'editor.worker.js': editorWorkerService,
    'graphql.worker.js': graphqlWorker,
    'json.worker.js': jsonWorker,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  for (const name of ['index.html', 'boot.js', 'icon.svg']) cpSync(join('src/graphiql', name), join(directory, name));
}
