import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  buildSchema,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isUnionType,
  printType,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { catalog } from '../../src/errors/catalog.js';
import { codeOf } from '../../src/errors/code.js';
import { buildHostpoolSchema } from '../../src/schema/build-schema.js';

const schema = buildHostpoolSchema();
const contractFile = fileURLToPath(new URL('../../../shared/design/schema.graphql', import.meta.url));

/** Every name in a schema, as Type, Type.field, Type.field.argument or Type.MEMBER, with types where there are some. */
function namesOf(source: GraphQLSchema): string[] {
  return Object.values(source.getTypeMap())
    .filter(({ name }) => !name.startsWith('__'))
    .flatMap((type) => {
      if (isEnumType(type)) return type.getValues().map(({ name }) => `${type.name}.${name}`);
      if (isUnionType(type)) return type.getTypes().map(({ name }) => `${type.name}.${name}`);
      if (isInputObjectType(type))
        return Object.values(type.getFields()).map((field) => `${type.name}.${field.name}: ${field.type}`);
      if (!isObjectType(type) && !isInterfaceType(type)) return [type.name];
      return Object.values(type.getFields()).flatMap((field) => [
        `${type.name}.${field.name}: ${field.type}`,
        ...field.args.map((arg) => `${type.name}.${field.name}.${arg.name}: ${arg.type}`),
      ]);
    });
}

describe('the schema', () => {
  it('has every name of the contract, with the same type', (context) => {
    if (!existsSync(contractFile)) context.skip(`there is no ${contractFile}`);
    const wanted = namesOf(buildSchema(readFileSync(contractFile, 'utf8')));
    expect(wanted.length).toBeGreaterThan(200);
    const here = new Set(namesOf(schema));
    expect(wanted.filter((name) => !here.has(name))).toEqual([]);
  });

  it('has the defaults of the contract', () => {
    const text = (name: string) => printType(schema.getType(name) as never).replaceAll(/""".*?"""/gs, '');
    expect(text('MemoryInput')).toMatch(/backing: Backing! = ANONYMOUS_SHM\s+hugepageSize: Bytes = 2097152/);
    expect(text('CreateV4PagedPoolInput')).toMatch(/layout: Layout! = LAYER_FIRST[\s\S]*budget: String! = "host"/);
    expect(text('ReserveHostMemoryInput')).toMatch(/backing: Backing! = ANONYMOUS\s+hugepageSize: Bytes = 2097152/);
    expect(text('CreateBudgetInput')).toContain('ranks: Int! = 1');
    expect(text('Subscription')).toContain('hostMemory(');
  });

  it('describes every type, field, argument and value', () => {
    const undescribed: string[] = [];
    const note = (name: string, { description }: { description?: string | null }) => {
      if (!description) undescribed.push(name);
    };
    for (const type of Object.values(schema.getTypeMap())) {
      if (type.name.startsWith('__') || ['String', 'Int', 'Float', 'Boolean', 'ID'].includes(type.name)) continue;
      note(type.name, type);
      if (isEnumType(type)) for (const value of type.getValues()) note(`${type.name}.${value.name}`, value);
      if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) continue;
      for (const field of Object.values(type.getFields())) {
        note(`${type.name}.${field.name}`, field);
        if ('args' in field) for (const arg of field.args) note(`${type.name}.${field.name}.${arg.name}`, arg);
      }
    }
    expect(undescribed).toEqual([]);
  });
});

describe('the error catalogue', () => {
  it('explains every code, and every error type has one', () => {
    const codes = schema.getType('ErrorCode');
    expect(
      isEnumType(codes) &&
        codes
          .getValues()
          .map(({ name }) => name)
          .sort(),
    ).toEqual(Object.values(codeOf).sort());
    const errorTypes = schema.getPossibleTypes(schema.getType('HostPoolError') as never).map(({ name }) => name);
    expect(Object.keys(catalog).sort()).toEqual([...errorTypes].sort());
    for (const [kind, entry] of Object.entries(catalog)) {
      expect(entry.meaning.length, kind).toBeGreaterThan(20);
      expect(entry.causes.length, kind).toBeGreaterThan(0);
      expect(entry.remedies.length, kind).toBeGreaterThan(0);
    }
  });
});
