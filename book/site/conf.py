"""How Sphinx reads the book; ``spyrelab book build`` lays out the pages that it speaks of."""

project = "SpyreLab"
author = "the SpyreLab authors"
html_title = "SpyreLab"
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "spyrelab.book.sphinx_extension",
]
exclude_patterns: list[str] = []

# Chapters are shown as they were committed: nothing runs while pages are made.
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3

default_role = "code"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
napoleon_google_docstring = False
# As plain text: attributes of one name in several classes would be linked at random.
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_rtype = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 88

html_theme = "sphinx_book_theme"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_theme_options = {
    "use_download_button": False,
    "use_fullscreen_button": False,
    "show_navbar_depth": 1,
    "show_toc_level": 2,
    "navbar_persistent": [],
    "home_page_in_toc": True,
    "logo": {"text": "SpyreLab"},
}
