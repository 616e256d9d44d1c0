// Starts GraphiQL on this server: queries by POST, subscriptions over graphql-ws, workers from our own origin.
const workers = {
  editorWorkerService: '/graphiql/editor.worker.js',
  graphql: '/graphiql/graphql.worker.js',
  json: '/graphiql/json.worker.js',
};
self.MonacoEnvironment = { globalAPI: false, getWorkerUrl: (_module, label) => workers[label] };

const firstQuery = `# hostpool: host memory for key/value caches, promised once.
query Overview {
  version
  budget {
    effectiveBytes
    chargedBytes
    availableBytes
  }
  pools {
    name
    state
    availableSlots
  }
}
`;

globalThis.YogaGraphiQL.renderYogaGraphiQL(document.querySelector('#root'), {
  title: 'hostpool',
  endpoint: '/graphql',
  subscriptionsProtocol: 'WS',
  headerEditorEnabled: true,
  defaultQuery: firstQuery,
});
