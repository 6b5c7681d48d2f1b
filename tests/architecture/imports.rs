//! Imports between the modules of a crate: there are no cycles, and in `http` no module imports from a layer above its own.
//!
//! Imports are read from `use` items and from paths that begin with `crate`, `self` or `super`. A re-export is followed to the
//! module of the item. Tests are ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{Package, TargetKind};
use syn::visit::Visit;
use syn::{Attribute, Item, ItemMod, UseTree, Visibility};

use crate::metadata;

/// The layers of `http`: each folder may use itself and those before it. Modules outside of these folders may use all of them.
const HTTP_LAYERS: [&str; 6] = ["core", "transport", "request", "response", "middleware", "endpoints"];

type Name = Vec<String>;

/// The modules of a crate.
#[derive(Default)]
struct Modules(BTreeMap<Name, Module>);

#[derive(Default)]
struct Module {
    /// The module whose file contains it.
    file: Name,
    /// The names that a `use` brings into scope, with their absolute paths.
    uses: BTreeMap<String, Name>,
    /// The absolute paths that it uses.
    imports: Vec<Name>,
}

impl Modules {
    fn of(package: &Package) -> Self {
        let roots = package
            .targets
            .iter()
            .filter(|target| target.kind.iter().any(|kind| matches!(kind, TargetKind::Lib | TargetKind::Bin)));
        let mut modules = Self::default();
        for root in roots {
            let path = root.src_path.as_std_path();
            let name = if root.is_bin() { vec!["main".to_owned()] } else { Name::new() };
            modules.load(&name, path, path.parent().unwrap());
        }
        modules
    }

    /// Reads a module from its file, and its submodules from theirs in `directory`.
    fn load(&mut self, name: &Name, file: &Path, directory: &Path) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.add(name, name, parsed.items, file.parent().unwrap(), directory);
    }

    fn add(&mut self, name: &Name, file: &Name, items: Vec<Item>, beside: &Path, directory: &Path) {
        self.0.insert(name.clone(), Module { file: file.clone(), ..Module::default() });
        let (submodules, items): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| matches!(item, Item::Mod(_)));
        for item in submodules {
            let Item::Mod(ItemMod { attrs, ident, content, .. }) = item else { continue };
            if is_test(&attrs) {
                continue;
            }
            let submodule: Name = [name.as_slice(), &[ident.to_string()]].concat();
            let inner = directory.join(ident.to_string());
            match (content, path_of(&attrs)) {
                (Some((_, items)), _) => self.add(&submodule, file, items, beside, &inner),
                (None, Some(path)) => {
                    let path = beside.join(path);
                    self.load(&submodule, &path, path.parent().unwrap());
                }
                (None, None) => {
                    let flat = inner.with_extension("rs");
                    let path = if flat.exists() { flat } else { inner.join("mod.rs") };
                    self.load(&submodule, &path, &inner);
                }
            }
        }
        let mut found = Found::default();
        items.iter().filter(|item| !is_test(attributes(item))).for_each(|item| found.visit_item(item));
        for (path, alias, is_export) in found.uses {
            let Some(path) = self.absolute(name, &path) else { continue };
            let module = self.0.get_mut(name).unwrap();
            module.uses.insert(alias, path.clone());
            if !is_export {
                module.imports.push(path);
            }
        }
        for path in found.paths {
            if let Some(path) = self.absolute(name, &path) {
                self.0.get_mut(name).unwrap().imports.push(path);
            }
        }
    }

    /// Returns the path from the root of the crate, or `None` for a path into another crate.
    fn absolute(&self, scope: &Name, path: &[String]) -> Option<Name> {
        let (first, rest) = path.split_first()?;
        let mut from = scope.clone();
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([from.as_slice(), rest].concat()),
            "super" => {
                let up = path.iter().take_while(|segment| *segment == "super").count();
                from.truncate(from.len().saturating_sub(up));
                Some([from.as_slice(), &path[up..]].concat())
            }
            _ => {
                from.push(first.clone());
                self.0.contains_key(&from).then(|| [from.as_slice(), rest].concat())
            }
        }
    }

    /// Returns the module whose file contains an item.
    fn home(&self, path: &[String], depth: usize) -> Option<&Name> {
        let mut module = Name::new();
        for (at, segment) in path.iter().enumerate() {
            let inner: Name = [module.as_slice(), std::slice::from_ref(segment)].concat();
            if self.0.contains_key(&inner) {
                module = inner;
                continue;
            }
            let used = self.0.get(&module).and_then(|module| module.uses.get(segment));
            return match used.filter(|_| depth < 10) {
                Some(used) => self.home(&[used.as_slice(), &path[at + 1..]].concat(), depth + 1),
                None => self.0.get(&module).map(|module| &module.file),
            };
        }
        self.0.get(&module).map(|module| &module.file)
    }

    /// Returns which file uses which other files.
    fn edges(&self) -> BTreeMap<&Name, BTreeSet<&Name>> {
        let mut edges: BTreeMap<&Name, BTreeSet<&Name>> = BTreeMap::new();
        for module in self.0.values() {
            let used = module.imports.iter().filter_map(|path| self.home(path, 0)).filter(|home| **home != module.file);
            edges.entry(&module.file).or_default().extend(used);
        }
        edges
    }
}

/// The imports and paths in a module.
#[derive(Default)]
struct Found {
    /// The imports, each with its name in the module and whether it is a re-export.
    uses: Vec<(Name, String, bool)>,
    paths: Vec<Name>,
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_export = !matches!(item.vis, Visibility::Inherited);
        flatten(&item.tree, Name::new(), &mut |path, alias| self.uses.push((path, alias, is_export)));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Name = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if segments.len() > 1 && ["crate", "self", "super"].contains(&segments[0].as_str()) {
            self.paths.push(segments);
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}
}

fn flatten(tree: &UseTree, mut path: Name, found: &mut impl FnMut(Name, String)) {
    match tree {
        UseTree::Path(it) => {
            path.push(it.ident.to_string());
            flatten(&it.tree, path, found);
        }
        UseTree::Name(it) if it.ident == "self" => {
            let name = path.last().cloned().unwrap_or_default();
            found(path, name);
        }
        UseTree::Name(it) => {
            path.push(it.ident.to_string());
            found(path, it.ident.to_string());
        }
        UseTree::Rename(it) => {
            path.push(it.ident.to_string());
            found(path, it.rename.to_string());
        }
        UseTree::Glob(_) => found(path, "*".to_owned()),
        UseTree::Group(it) => it.items.iter().for_each(|tree| flatten(tree, path.clone(), found)),
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Use(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        _ => &[],
    }
}

/// Returns whether an item is compiled only for tests.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        is_cfg && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}

/// Returns the file that an attribute `path` names.
fn path_of(attributes: &[Attribute]) -> Option<PathBuf> {
    let value = attributes.iter().find_map(|attribute| {
        let it = attribute.path().is_ident("path").then(|| attribute.meta.require_name_value().ok())??;
        match &it.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) => Some(path.value()),
            _ => None,
        }
    });
    value.map(PathBuf::from)
}

/// Returns the shortest path from a module over others back to itself, if there is one.
fn cycle<'a>(edges: &BTreeMap<&'a Name, BTreeSet<&'a Name>>, start: &'a Name) -> Option<Vec<&'a Name>> {
    // Breadth-first, so that the shortest path is found.
    let mut ways = vec![vec![start]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            for next in edges.get(way[way.len() - 1]).into_iter().flatten() {
                if *next == start {
                    return Some(way);
                }
                if seen.insert(*next) {
                    longer.push([way.as_slice(), &[*next]].concat());
                }
            }
        }
        ways = longer;
    }
    None
}

fn shown(name: &Name) -> String {
    if name.is_empty() { "the root".to_owned() } else { name.join("::") }
}

#[test]
fn no_crate_has_a_cycle_of_imports() {
    let mut circles = Vec::new();
    for package in &metadata().packages {
        let modules = Modules::of(package);
        let edges = modules.edges();
        let mut known = BTreeSet::new();
        for start in edges.keys() {
            if let Some(way) = cycle(&edges, start) {
                let mut members = way.clone();
                members.sort();
                if known.insert(members) {
                    let way = way.iter().map(|name| shown(name)).collect::<Vec<_>>().join(" -> ");
                    circles.push(format!("{}: {way} -> {}", package.name, shown(start)));
                }
            }
        }
    }
    assert!(circles.is_empty(), "{} circles:\n{}", circles.len(), circles.join("\n"));
}

#[test]
fn the_layers_of_http_use_only_themselves_and_earlier_layers() {
    let metadata = metadata();
    let package = metadata.packages.iter().find(|package| package.name.as_str() == "agora-http").unwrap();
    let modules = Modules::of(package);
    let layer = |name: &Name| {
        HTTP_LAYERS
            .iter()
            .position(|layer| name.first().is_some_and(|first| first == layer))
            .unwrap_or(HTTP_LAYERS.len())
    };
    let mut wrong = Vec::new();
    let mut layers = BTreeSet::new();
    for (module, used) in modules.edges() {
        layers.insert(layer(module));
        let below = used.iter().filter(|used| layer(used) > layer(module));
        wrong.extend(below.map(|used| format!("{} uses {}", shown(module), shown(used))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(layers.len(), HTTP_LAYERS.len() + 1, "a layer has no module");
}
