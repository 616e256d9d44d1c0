import {
  type ASTVisitor,
  type FieldNode,
  GraphQLError,
  type GraphQLObjectType,
  getNullableType,
  isListType,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql';
import { MAX_NAMES_OF_FIELD, MAX_ROOT_FIELDS, MAX_SELECTIONS } from './limits.js';

/**
 * A validation rule: how much one operation may ask for by giving the same field many names. Fragments are written out
 * where they are used; @skip and @include are not looked at.
 */
export function selectionLimitsRule(context: ValidationContext): ASTVisitor {
  return {
    OperationDefinition(operation) {
      const message = excessOf(operation, context);
      if (message !== undefined) context.reportError(new GraphQLError(message, { nodes: operation }));
    },
  };
}

/** What an operation has too much of, as a sentence; undefined when it keeps the limits. */
function excessOf(operation: OperationDefinitionNode, context: ValidationContext): string | undefined {
  const root = context.getSchema().getRootType(operation.operation);
  const places: SelectionSetNode[][] = [[operation.selectionSet]];
  let selections = 0;
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    const isRoot = selections === 0;
    const { fields, seen } = fieldsOf(place, context, MAX_SELECTIONS - selections);
    selections += seen;
    if (selections > MAX_SELECTIONS)
      return `An operation has at most ${MAX_SELECTIONS} selections, fragments written out.`;
    if (isRoot && fields.size > MAX_ROOT_FIELDS) return `An operation has at most ${MAX_ROOT_FIELDS} root fields.`;
    const excess = repeatedField(fields, isRoot ? root : undefined);
    if (excess !== undefined) return `${excess} stands under more than ${MAX_NAMES_OF_FIELD} names in one place.`;
    places.push(...[...fields.values()].map((nodes) => nodes.flatMap(({ selectionSet }) => selectionSet ?? [])));
  }
  return undefined;
}

/** The fields of one place by the names they are answered under, and how many selections were looked at. */
function fieldsOf(place: SelectionSetNode[], context: ValidationContext, most: number) {
  const fields = new Map<string, FieldNode[]>();
  const spread = new Set<string>();
  const sets = [...place];
  let seen = 0;
  for (let set = sets.pop(); set !== undefined && seen <= most; set = sets.pop()) {
    seen += set.selections.length;
    for (const selection of set.selections) {
      if (selection.kind === 'Field') {
        const name = (selection.alias ?? selection.name).value;
        const nodes = fields.get(name);
        if (nodes === undefined) fields.set(name, [selection]);
        else nodes.push(selection);
      } else if (selection.kind === 'InlineFragment') sets.push(selection.selectionSet);
      else if (!spread.has(selection.name.value)) {
        spread.add(selection.name.value);
        const fragment = context.getFragment(selection.name.value);
        if (fragment != null) sets.push(fragment.selectionSet);
      }
    }
  }
  return { fields, seen };
}

/** A field under too many names. At the root, where fields take arguments, only lists and the schema are counted. */
function repeatedField(fields: Map<string, FieldNode[]>, root: GraphQLObjectType | null | undefined) {
  const names = new Map<string, number>();
  for (const [node] of fields.values()) {
    const field = node?.name.value ?? '';
    if (root != null && !isCostly(root, field)) continue;
    const count = (names.get(field) ?? 0) + 1;
    if (count > MAX_NAMES_OF_FIELD) return field;
    names.set(field, count);
  }
  return undefined;
}

function isCostly(root: GraphQLObjectType, field: string): boolean {
  const type = root.getFields()[field]?.type;
  return field === '__schema' || (type !== undefined && isListType(getNullableType(type)));
}
