"""The site file: read, checked, and turned into hosts."""

from hpcprov.site.load import Report, check_site, load_draft, load_site
from hpcprov.site.model import Host, Site

__all__ = ["Host", "Report", "Site", "check_site", "load_draft", "load_site"]
