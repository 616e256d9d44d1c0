import type { GraphQLResolveInfo, SelectionSetNode } from 'graphql';

/** Whether the field being resolved has `name` selected directly below it, fragments looked through. */
export function selects(info: GraphQLResolveInfo, name: string): boolean {
  const inSet = (set: SelectionSetNode | undefined): boolean =>
    set?.selections.some((selection) => {
      if (selection.kind === 'Field') return selection.name.value === name;
      if (selection.kind === 'InlineFragment') return inSet(selection.selectionSet);
      return inSet(info.fragments[selection.name.value]?.selectionSet);
    }) ?? false;
  return info.fieldNodes.some((node) => inSet(node.selectionSet));
}
