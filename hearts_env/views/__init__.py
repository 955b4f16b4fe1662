"""What one player may know: the view, the hidden worlds it allows, and what play proves.

``view`` is what every agent receives; ``worlds`` counts, lists and samples what is still possible;
``hidden`` is the compiled part; ``deals`` counts deals.
"""
