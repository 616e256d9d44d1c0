import type { FailureKind } from '../../allocator/failure.js';
import { catalog } from '../../errors/catalog.js';
import { codeOf } from '../../errors/code.js';
import type { QueryResolvers } from '../../schema/generated/resolver-types.js';

/** What each code means. */
export const errorCatalogQueries: QueryResolvers = {
  errorCatalog: (_root, { code }) =>
    (Object.keys(catalog) as FailureKind[])
      .map((typeName) => ({ code: codeOf[typeName], typeName, ...catalog[typeName] }))
      .filter((entry) => code == null || entry.code === code),
};
